#include "judge/answer/cases.hpp"

#include "chapters/09_training/loss/loss.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const Tensor& logits, const Ids& targets) {
    CrossEntropyCache cache;
    const double mean = cross_entropy(logits, targets, {}, &cache),
                 all = static_cast<double>(targets.size()),
                 counted = static_cast<double>(cache.counted);
    cases.add({.criterion = "the loss",
               .call = "mean_loss",
               .arguments = values(logits, targets),
               .results = values(mean),
               .about = fmt::format("logits {}, {} of {} targets count", logits.shape(),
                                    cache.counted, targets.size()),
               .names = {"logits", "targets", "the loss"},
               .constants = {{"the number of targets that count", counted},
                             {"the number of all targets", all}},
               .mistakes = {{"the sum is divided by the number of all places, pads included",
                             values(mean * counted / all)},
                            {"pads count like words",
                             values(cross_entropy(logits, targets, {.ignore = -1}))},
                            {"the sum is not divided", values(mean * counted)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, Tensor({1, 3, 4}, {0, 2, 1, 0, 0, 1, 3, 0, 5, 5, 5, 5}), Ids({1, 3}, {1, 2, 0}));
    add(cases, cases.normal({2, 3, 5}), Ids({2, 3}, {1, 2, 3, 4, 0, 0}));
    add(cases, cases.uniform({3, 2, 4}, -900, 900), Ids({3, 2}, {1, 3, 0, 0, 2, 0}));
    const char *const pads = "your test notices pads", *const means =
                                                           "your test notices other means";
    for (const char* criterion : {pads, means}) {
        cases.add_test(criterion, "own", "your own mean_loss");
        cases.add_test(criterion, "right", "a correct function that is not yours");
    }
    for (const char* what : {"divided by all places", "pads count like words"})
        cases.add_test(pads, what, fmt::format("this function: {}", what));
    for (const char* what : {"the mean of the sentences' means", "the sum, not divided",
                             "the sum divided by the sentences", "the smallest loss of all"})
        cases.add_test(means, what, fmt::format("this function: {}", what));
}
