#include "judge/answer/cases.hpp"

#include <string>
#include <vector>

#include "lines.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

const std::vector<std::string> off_by_one{"the word after the arrow is not asked for",
                                          "the arrow counts, too",
                                          "the end symbol is not asked for"},
    others{"every word counts", "the second line's source counts, too",
           "each row must say the word it reads", "pads have rows, too"};
constexpr std::int32_t arrow = 2, end = 1;

/// Lines with so many words before and after the arrow.
Ids drawn(Cases& cases, const std::vector<std::pair<Index, Index>>& lengths) {
    Index longest = 0, b = 0;
    for (const auto& [source, target] : lengths) longest = std::max(longest, source + target + 2);
    Ids lines = Ids::zeros({static_cast<Index>(lengths.size()), longest});
    for (const auto& [source, target] : lengths) {
        const Ids words = cases.ids({source + target + 2}, 20);
        for (Index t = 0; t < words.size(); ++t)
            lines(b, t) = t == source ? arrow : t == source + target + 1 ? end : words(t) + 3;
        ++b;
    }
    return lines;
}

void add(Cases& cases, const Ids& lines) {
    std::vector<Mistake> mistakes;
    for (const auto* list : {&off_by_one, &others})
        for (const std::string& what : *list)
            mistakes.push_back({what, values(targets_with(what, lines, arrow))});
    cases.add({.criterion = "the targets",
               .call = "targets_of",
               .arguments = values(lines, arrow),
               .results = values(targets_with("right", lines, arrow)),
               .about = fmt::format("lines {}, arrow {}, end {}", lines.shape(), arrow, end),
               .names = {"lines", "arrow", "the targets"},
               .mistakes = mistakes});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, drawn(cases, {{3, 2}}));
    add(cases, drawn(cases, {{2, 4}, {5, 3}}));
    add(cases, drawn(cases, {{1, 1}, {4, 6}, {6, 0}, {2, 3}}));
    const char *const one = "your test notices a mask that is off by one",
                      *const other = "your test notices other faults";
    for (const char* criterion : {one, other}) {
        cases.add_test(criterion, "own", "your own targets_of");
        cases.add_test(criterion, "right", "a correct function that is not yours");
        for (const std::string& what : criterion == one ? off_by_one : others)
            cases.add_test(criterion, what, fmt::format("this function: {}", what));
    }
}
