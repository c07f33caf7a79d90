#include "chapters/01_embedding/embedding.hpp"

#include <cmath>

#include "lib/eigen.hpp"

namespace abh {
namespace plain {
decltype(embedding) embedding;
decltype(embedding_backward) embedding_backward;
}  // namespace plain
namespace cuda {
decltype(embedding) embedding;
decltype(embedding_backward) embedding_backward;
}  // namespace cuda
// [construct]
Embedding::Embedding(Index n_words, Index d_model, EmbeddingOptions options, Random& random)
    : options_(options) {
    require(n_words >= 1 && d_model >= 1,
            "embedding: {} words of width {}; both must be at least 1", n_words, d_model);
    require(options.padding_id < n_words,
            "embedding: padding id {} is not in the table of {} words", options.padding_id,
            n_words);
    table = Parameter(normal({n_words, d_model}, random.stream()));
    table.value *= options.deviation;
    if (options.padding_id >= 0) matrix(table.value).row(options.padding_id).setZero();
}

void Embedding::collect(Parameters& list, const std::string& name) {
    list.push_back({join_name(name, "weight"), &table});
}
// [layer]
Tensor Embedding::forward(const Ids& ids, Cache* cache) const {
    return embedding(ids, *this, cache);
}

void Embedding::backward(const Tensor& dy, const Cache& cache) {
    embedding_backward(dy, *this, cache);
}

Real Embedding::factor() const {
    return options_.scale ? std::sqrt(static_cast<Real>(d_model())) : Real(1);
}
// [plain]
Tensor plain::embedding(const Ids& ids, const Embedding& words, Embedding::Cache*) {
    Tensor y({ids.dim(0), ids.dim(1), words.d_model()});
    for (Index r = 0; std::int32_t id : ids.values())  // all R = B L words; each row is [d_model]
        matrix(y).row(r++) = matrix(words.table.value).row(id);
    // [plain: options]
    y *= words.factor();  // sqrt(d_model), or 1
    return y;
}

/// What reaches the table: `dy` times the factor, and nothing from a padding token.
static Tensor with_options(const Tensor& dy, const Embedding& words, const Ids& ids) {
    Tensor scaled(dy.shape());
    matrix(scaled) = words.factor() * matrix(dy);
    for (Index r = 0; std::int32_t id : ids.values()) {
        if (id == words.options().padding_id) matrix(scaled).row(r).setZero();
        ++r;
    }
    return scaled;
}
// [plain: backward]
void plain::embedding_backward(const Tensor& g, Embedding& words, const Embedding::Cache& cache) {
    const Tensor dy = with_options(g, words, cache.ids);
    MatrixMap dtable = matrix(words.table.grad());           // [n_words, d_model]
    for (Index r = 0; std::int32_t id : cache.ids.values())  // forward was: y[r] = table[id]
        dtable.row(id) += matrix(dy).row(r++);
}
// [operation]
Tensor embedding(const Ids& ids, const Embedding& words, Embedding::Cache* cache) {
    require(ids.rank() == 2, "embedding: ids have shape {}, expected [B, L]", ids.shape());
    for (std::int32_t id : ids.values())
        require(id >= 0 && id < words.n_words(), "embedding: id {} is not in the table of {} words",
                id, words.n_words());
    if (cache) *cache = {way(), ids};
    return Ways{"embedding", plain::embedding, plain::embedding, cuda::embedding}(ids, words,
                                                                                  cache);
}

void embedding_backward(const Tensor& dy, Embedding& words, const Embedding::Cache& cache) {
    const Ids& ids = cache.ids;
    require_shape(dy.shape(), {ids.dim(0), ids.dim(1), words.d_model()}, "embedding backward",
                  "dy");
    const ScopedWay scoped(cache.way);
    Ways{"embedding", plain::embedding_backward, plain::embedding_backward,
         cuda::embedding_backward}(dy, words, cache);
}

}  // namespace abh
