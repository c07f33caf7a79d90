#include "judge/answer/cases.hpp"

#include "model.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add_logits(Cases& cases, const char* criterion, const Ids& words, Index n_words,
                Index n_layers, bool pre) {
    const Index seed = cases.between(1, 1'000'000);
    const Parts model(n_words, n_layers, pre, seed);
    const Tensor vectors = model.words_of.forward(words), x = model.positions.forward(vectors);
    const AttentionMask pads = hide_pads(words), future = hide_future();
    const auto logits = [&](const Tensor& in, const AttentionMask& mask) {
        return values(model.output.forward(model.stack.forward(in, mask)));
    };
    cases.add({.criterion = criterion,
               .call = "language_model",
               .arguments = values(words, n_words, n_layers, pre, seed),
               .results = logits(x, pads | future),
               .about = fmt::format("words {}, {} layers, {}", words.shape(), n_layers,
                                    pre ? "pre" : "post"),
               .names = {"words", "n_words", "n_layers", "pre", "seed", "the logits"},
               .mistakes = {{"later words are seen; hide the future, too", logits(x, pads)},
                            {"pads are seen", logits(x, future)},
                            {"pads and later words are seen", logits(x, {})},
                            {"the words have no positions", logits(vectors, pads | future)},
                            {"this is the stack's result, but logits come from the output map",
                             values(model.stack.forward(x, pads | future))}}});
}

void add_influence(Cases& cases, const Ids& words, Index n_words, Index first, Index ahead) {
    const Index length = words.dim(1);
    Tensor moved = Tensor::zeros({length, length}), whole = moved.clone();
    for (Index j = 0; j < length; ++j)
        for (Index t = 0; t < length; ++t) {
            moved(j, t) = j >= first && j <= t + ahead;
            whole(j, t) = j >= first;
        }
    cases.add(
        {.criterion = "influence",
         .call = "influence",
         .arguments = values(words, n_words, first, ahead),
         .results = values(moved),
         .about = fmt::format("a model whose row t reads words {} to t{:+}", first, ahead),
         .names = {"words", "n_words", "first", "ahead", "the influence"},
         .mistakes = {{"a change shows in rows that do not read it; either rows are not compared "
                       "one by one, or words changed earlier were not put back (a copy of Ids "
                       "shares its elements, so clone it)",
                       values(whole)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto words_without_pads = [&](const Shape& shape, Index n_words) {
        Ids words = cases.ids(shape, n_words - 1);
        for (std::int32_t& word : words.values()) ++word;
        return words;
    };
    add_logits(cases, "logits", words_without_pads({1, 1}, 5), 5, 1, false);
    for (const bool pre : {false, true})
        add_logits(cases, "logits", words_without_pads({2, 5}, 9), 9, 2, pre);
    for (const bool pre : {false, true})  // a pad among the words, which the triangle does not hide
        add_logits(cases, "pads", Ids({2, 5}, {1, 0, 3, 2, 4, 0, 5, 2, 0, 0}), 6, 2, pre);
    // row t reads what the case says, so only a comparison gives the right answer
    add_influence(cases, cases.ids({1, 4}, 6), 6, 0, 0);
    add_influence(cases, cases.ids({1, 7}, 5), 5, 0, 1);
    add_influence(cases, cases.ids({1, 6}, 4), 4, 2, 0);
    add_influence(cases, cases.ids({1, 5}, 9), 9, 0, -1);
    add_influence(cases, cases.ids({1, 1}, 3), 3, 0, 0);
}
