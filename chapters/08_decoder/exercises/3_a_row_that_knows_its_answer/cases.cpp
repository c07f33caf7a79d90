#include "judge/answer/cases.hpp"

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/08_decoder/decoder.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

constexpr Index d_model = 4;

void add_rows(Cases& cases, const Ids& target, const Ids& source, Index n_layers) {
    const Index n_words = 9, seed = cases.between(1, 1'000'000);
    const std::int32_t start = n_words - 1;
    LayerOptions options;
    options.attention.d_model = d_model;
    options.attention.n_heads = 2;
    options.d_ff = 5;
    Random random(static_cast<std::uint64_t>(seed));  // as in call.cpp
    const Embedding words_of(n_words, d_model, {}, random);
    const Decoder decoder(options, n_layers, random);
    const Tensor memory = cases.normal({source.dim(0), source.dim(1), d_model});
    Ids right(target.shape()), left(target.shape());
    const Index length = target.dim(1);
    for (Index b = 0; b < target.dim(0); ++b)
        for (Index t = 0; t < length; ++t) {
            right(b, t) = t == 0 ? start : target(b, t - 1);
            left(b, t) = t + 1 == length ? start : target(b, t + 1);
        }
    const auto rows = [&](const Ids& input, const AttentionMask& mask) {
        return values(decoder.forward(words_of.forward(input), memory, mask, hide_pads(source)));
    };
    const AttentionMask future = hide_future();
    cases.add(
        {.criterion = "the rows",
         .call = "rows_of",
         .arguments = values(target, memory, source, n_words, n_layers, seed),
         .results = rows(right, hide_pads(right) | future),
         .about = fmt::format("target {}, {} layers", target.shape(), n_layers),
         .names = {"target", "memory", "source", "n_words", "n_layers", "seed", "the rows"},
         .mistakes = {
             {"the future is not hidden, so each row sees the words that it and later rows must "
              "say",
              rows(right, hide_pads(right))},
             {"the input is not shifted, so row t reads the word that it must say",
              rows(target, hide_pads(target) | future)},
             {"the input is shifted the wrong way", rows(left, hide_pads(left) | future)},
             {"the pads of the input are seen", rows(right, future)},
             {"the mask hides the target's pads, but the keys are the input's, whose pads are one "
              "place further",
              rows(right, hide_pads(target) | future)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add_rows(cases, Ids({1, 3}, {1, 2, 3}), Ids({1, 1}, {1}), 1);
    add_rows(cases, Ids({2, 5}, {1, 2, 3, 4, 5, 6, 7, 0, 0, 0}), Ids({2, 3}, {1, 2, 3, 4, 0, 0}),
             2);
    const char *const early = "your test notices what is seen too early",
                      *const gap = "your test notices what is not seen";
    const auto drawn = [&] {
        const Index n_words = cases.between(5, 9), seed = cases.between(1, 1'000'000);
        return values(n_words, seed);
    };
    for (const char* criterion : {early, gap}) {
        cases.add_test(criterion, "own", "your own rows_of", drawn());
        cases.add_test(criterion, "right", "a correct function that is not yours", drawn());
    }
    for (const char* what : {"no look-ahead mask", "no shift", "no shift and no look-ahead mask",
                             "a look-ahead mask that begins one place too late"})
        cases.add_test(early, what, fmt::format("this function: {}", what), drawn());
    for (const char* what : {"a shift by two", "each row sees its own word alone"})
        cases.add_test(gap, what, fmt::format("this function: {}", what), drawn());
}
