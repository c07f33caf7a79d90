#include "judge/answer/cases.hpp"

#include <utility>
#include <vector>

#include "chapters/03_masks/attention_mask.hpp"
#include "chapters/12_where_the_time_goes/works.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// How many scores of one head look-ahead hides in a sentence of this many words.
Index hidden_scores(Index words) {
    AttentionMask mask;
    mask.causal = true;
    Index count = 0;
    for (Index i = 0; i < words; ++i)
        for (Index j = 0; j < words; ++j) count += mask.hides(0, 0, i, j);
    return count;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const TransformerOptions base = base_step().options;
    const Index B = cases.between(8, 64), brief = cases.between(16, 48),
                lengthy = 16 * cases.between(96, 160);
    const double d = static_cast<double>(base.layer.attention.d_model),
                 layers = static_cast<double>(base.n_decoder_layers);
    const auto ask = [&](const char* line, double number,
                         const std::vector<std::pair<const char*, double>>& wrong,
                         double tolerance = 1e-9) {
        Case c{.criterion = line,
               .call = line,
               .arguments = values(B, brief, lengthy),
               .results = values(static_cast<Real>(number)),
               .tolerance = tolerance,
               .names = {"B", "L_short", "L_long"}};
        for (const auto& [says, instead] : wrong)
            c.mistakes.push_back({says, values(static_cast<Real>(instead))});
        cases.add(c);
    };
    // two products forward and four backward, each with d multiply-adds per score, over all heads
    const auto saved = [&](Index words) {
        return layers * 6 * d * static_cast<double>(B * hidden_scores(words));
    };
    const auto share = [&](Index words) {
        return saved(words) /
               training_floor(base, B, words, words, OptimizerKind::adam).multiply_adds;
    };
    const double hidden = static_cast<double>(hidden_scores(brief)),
                 diagonal = static_cast<double>(brief);
    ask("hidden", hidden,
        {{"a word sees itself: the diagonal is not hidden", hidden + diagonal},
         {"this counts the scores that are not hidden", diagonal * diagonal - hidden}});
    ask("saved", saved(brief),
        {{"backward has four more products", saved(brief) / 3},
         {"attention has two products forward: with the keys, and with the values",
          saved(brief) / 2},
         {"only the decoder's self-attention has look-ahead", saved(brief) * 2},
         {"only the decoder's self-attention has look-ahead", saved(brief) * 3},
         {"this is one layer", saved(brief) / layers},
         {"this is one sentence", saved(brief) / static_cast<double>(B)},
         {"a multiply-add counts once", saved(brief) * 2}});
    ask("share_short", share(brief), {}, 5e-3);
    ask("share_long", share(lengthy), {}, 5e-3);
}
