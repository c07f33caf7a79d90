#include "judge/answer/cases.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

// row t reads what the case says, so only a comparison gives the right answer
void add(Cases& cases, const char* criterion, const Ids& words, Index n_words, Index first,
         Index ahead) {
    const Index length = words.dim(1);
    Tensor moved = Tensor::zeros({length, length}), whole = moved.clone();
    for (Index j = 0; j < length; ++j)
        for (Index t = 0; t < length; ++t) {
            moved(j, t) = j >= first && j <= t + ahead;
            whole(j, t) = j >= first;
        }
    cases.add(
        {.criterion = criterion,
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
    const char *const causal = "a model that hides the future", *const others = "other models";
    add(cases, causal, Ids({1, 4}, {1, 5, 0, 3}), 6, 0, 0);  // after 5 comes 0
    add(cases, causal, cases.ids({1, 7}, 5), 5, 0, 0);
    add(cases, causal, cases.ids({1, 1}, 3), 3, 0, 0);
    add(cases, others, Ids({1, 3}, {2, 4, 0}), 5, 1, 1);
    add(cases, others, cases.ids({1, 7}, 5), 5, 0, 1);
    add(cases, others, cases.ids({1, 6}, 4), 4, 2, 0);
    add(cases, others, cases.ids({1, 5}, 9), 9, 0, -1);
}
