#include <functional>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "judge/serve.hpp"

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
    LayerOptions options;
    options.attention.d_model = 6;
    options.attention.n_heads = 3;
    options.d_ff = 7;
    options.add_norm.placement = pre ? NormPlacement::pre : NormPlacement::post;
    Random random(static_cast<std::uint64_t>(seed));
    const Embedding words_of(n_words, 6, {}, random);
    const PositionalEncoding positions(6, {.max_len = 20}, random);
    const Encoder stack(options, n_layers, random);
    const Linear output(6, n_words, true, random);
    return mine::language_model(words, words_of, positions, stack, output);
}

/// A model in which row t reads words `first` to `t + ahead`, and at least one of them.
Tensor influence(const Ids& words, Index n_words, Index first, Index ahead) {
    const Index length = words.dim(1);
    return mine::influence(words, n_words, [=](const Ids& ids) {
        Tensor logits = Tensor::zeros({1, length, n_words});
        for (Index t = 0; t < length; ++t)
            for (Index j = first; j <= std::min(t + ahead, length - 1); ++j)
                logits(0, t, (j + t) % n_words) += static_cast<Real>(ids(0, j)) / 7;
        return logits;
    });
}

}  // namespace

int main() {
    return judge::serve({{"language_model", judge::function(language_model)},
                         {"influence", judge::function(influence)}});
}
