#include <functional>

#include "judge/answer/serve.hpp"
#include "model.hpp"

namespace abh::mine {
Tensor language_model(const Ids& words, const Embedding& words_of,
                      const PositionalEncoding& positions, const Encoder& stack,
                      const Linear& output);
Tensor influence(const Ids& words, Index n_words,
                 const std::function<Tensor(const Ids& words)>& logits);
}  // namespace abh::mine

using namespace abh;

namespace {

Tensor language_model(const Ids& words, Index n_words, Index n_layers, bool pre, Index seed) {
    const judge::Parts model(n_words, n_layers, pre, seed);
    return mine::language_model(words, model.words_of, model.positions, model.stack, model.output);
}

/// A model in which row t reads words `first` to `t + ahead`, if there are any.
Tensor influence(const Ids& words, Index n_words, Index first, Index ahead) {
    const Index n = words.dim(1);
    return mine::influence(words, n_words, [=](const Ids& ids) {
        Tensor logits = Tensor::zeros({1, n, n_words});
        for (Index t = 0; t < n; ++t)
            for (Index j = first; j <= std::min(t + ahead, n - 1); ++j)
                logits(0, t, (j + t) % n_words) += static_cast<Real>(ids(0, j)) / 7;
        return logits;
    });
}

}  // namespace

int main() {
    return judge::serve({{"language_model", judge::function(language_model)},
                         {"influence", judge::function(influence)}});
}
