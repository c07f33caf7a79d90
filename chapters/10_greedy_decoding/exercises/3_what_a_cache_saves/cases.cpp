#include "judge/answer/cases.hpp"

#include "chapters/10_greedy_decoding/greedy_decoding.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const char* criterion, const char* line, const Values& drawn, Index right,
         const std::vector<std::pair<const char*, Index>>& wrong) {
    Case c{.criterion = criterion,
           .call = line,
           .arguments = drawn,
           .results = values(static_cast<Real>(right)),
           .names = {"N", "d_model", "d_ff", "V", "L_s", "n"}};
    for (const auto& [says, number] : wrong)
        c.mistakes.push_back({says, values(static_cast<Real>(number))});
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    TransformerOptions o;
    const Index n_layers = cases.between(2, 6), d = 8 * cases.between(4, 16),
                d_ff = 10 * cases.between(7, 40), v = cases.between(60, 900),
                source = cases.between(5, 19), n = cases.between(4, 12);
    o.n_decoder_layers = n_layers;
    o.layer.attention.d_model = d;
    o.layer.d_ff = d_ff;
    o.tgt_words = v;
    const Index plain = decoder_multiply_adds(o, source, n, false),
                cached = decoder_multiply_adds(o, source, n, true), rows = n * (n + 1) / 2,
                squares = n * (n + 1) * (2 * n + 1) / 6, memory = n_layers * 2 * source * d * d;
    const Values drawn = values(n_layers, d, d_ff, v, source, n);
    add(cases, "without the cache", "plain", drawn, plain,
        {{"keys and values of the source are computed in every pass, not only once",
          plain - (n - 1) * memory},
         {"keys and values of the source are missing", plain - n * memory},
         {"logits are computed for all rows of a pass, not only for the last",
          plain - (rows - n) * d * v},
         {"the logits are missing", plain - rows * d * v},
         {"all t keys are multiplied with each of the t queries, and the mask comes afterwards",
          plain - n_layers * 2 * d * (squares - (squares + rows) / 2)},
         {"the scores are counted, but not the weighted sums of values, or the other way round",
          plain - n_layers * d * (squares + rows * source)},
         {"cross-attention's query and output projections are missing",
          plain - n_layers * rows * 2 * d * d}});
    add(cases, "with the cache", "cached", drawn, cached,
        {{"keys and values of the source are computed once, not in every pass",
          cached + (n - 1) * memory},
         {"keys and values of the source are missing, but they are computed once", cached - memory},
         {"the logits are missing", cached - n * d * v},
         {"the scores are counted, but not the weighted sums of values, or the other way round",
          cached - n_layers * d * (rows + n * source)},
         {"cross-attention's query and output projections are missing",
          cached - n_layers * n * 2 * d * d}});
    const Index kept = n_layers * 2 * (n + source) * d;
    add(cases, "what is kept", "kept", drawn, kept,
        {{"keys and values are kept, not only one of them", kept / 2},
         {"each layer keeps keys and values of its own", kept / n_layers},
         {"those of the source are kept, too", n_layers * 2 * n * d}});
}
