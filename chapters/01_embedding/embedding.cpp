#include "chapters/01_embedding/embedding.hpp"

#include <cmath>

#include "chapters/01_embedding/embedding.cuh"
#include "lib/eigen.hpp"
#include "lib/profile.hpp"

namespace abh {
// [construct]
Embedding::Embedding(Index n_words, Index d_model, EmbeddingOptions options, Random& random)
    : options_(options) {
    require(n_words >= 1 && d_model >= 1,
            "embedding: {} words of width {}; both must be at least 1", n_words, d_model);
    require(options.padding_id < n_words, "embedding: padding id {} in a table of {} words",
            options.padding_id, n_words);
    table = Parameter(normal({n_words, d_model}, random.stream()));
    if (options.padding_id >= 0) matrix(table.value).row(options.padding_id).setZero();
}

void Embedding::collect(Parameters& list, const std::string& name) {
    list.push_back({join_name(name, "weight"), &table});
}
// [forward]
Real Embedding::factor() const {
    return options_.scale ? std::sqrt(static_cast<Real>(d_model())) : Real(1);
}

Tensor Embedding::forward(const Ids& ids, Cache* cache) const {
    const Timed timed("embedding");
    require(ids.rank() == 2, "embedding: ids have shape {}, expected [B, L]", ids.shape());
    for (std::int32_t id : ids.values())
        require(id >= 0 && id < n_words(), "embedding: id {} in a table of {} words", id,
                n_words());
    Tensor y({ids.dim(0), ids.dim(1), d_model()});
    if (cache) cache->ids = ids;
    const Real s = factor();
    if (on_cuda()) return cuda::gather_rows(y, table.value, ids, s), y;
    for (Index i = 0; i < ids.size(); ++i)  // all B * L words; each row is [d_model]
        matrix(y).row(i) = s * matrix(table.value).row(ids.data()[i]);
    return y;
}
// [backward]
// forward was:  y_i = s table[ids_i]
// hence:        dtable[w] = s * sum of dy_i over all i with ids_i = w: one row, many additions
void Embedding::backward(const Tensor& dy, const Cache& cache) {
    const Timed timed("embedding");
    const Ids& ids = cache.ids;
    require_shape(dy.shape(), {ids.dim(0), ids.dim(1), d_model()}, "embedding backward", "dy");
    const Real s = factor();
    if (on_cuda()) return cuda::scatter_add_rows(table.grad(), dy, ids, s, options_.padding_id);
    MatrixMap dtable = matrix(table.grad());  // [n_words, d_model]
    for (Index i = 0; i < ids.size(); ++i)
        if (ids.data()[i] != options_.padding_id)
            dtable.row(ids.data()[i]) += s * matrix(dy).row(i);  // [d_model]
}

}  // namespace abh
