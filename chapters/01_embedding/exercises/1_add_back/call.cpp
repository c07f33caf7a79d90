#include <cmath>

#include "chapters/01_embedding/embedding.hpp"
#include "judge/answer/serve.hpp"

namespace abh {
namespace mine {
decltype(embedding_backward) embedding_backward;
}

// The members of the chapter's class that are needed here; the chapter's library is not linked.
Embedding::Embedding(Index n_words, Index d_model, EmbeddingOptions options, Random&)
    : table(Tensor::zeros({n_words, d_model})), options_(options) {}

Real Embedding::factor() const {
    return options_.scale ? std::sqrt(static_cast<Real>(table.value.dim(1))) : Real(1);
}
}  // namespace abh

namespace {

using namespace abh;

/// The table's gradient after the reader's function has added to `before`.
Tensor call(const Tensor& dy, const Ids& ids, const Tensor& before, Index scale, Index padding) {
    Random random(1);
    Embedding words(before.dim(0), before.dim(1),
                    {.scale = scale != 0, .padding_id = static_cast<std::int32_t>(padding)},
                    random);
    words.table.grad() += before;
    mine::embedding_backward(dy, words, {Way::plain, ids});
    return words.table.grad();
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"embedding_backward", function(call)}});
}
