#include "judge/answer/cases.hpp"

#include <algorithm>

using namespace abh;
using namespace abh::judge;

namespace {

Ids first(const Ids& ids, Index n) {
    return ids.rows(0, n).clone();
}

void add(Cases& cases, const Ids& script, Index max_words) {
    const std::int32_t start = 1, end = 2;
    const Index length =
        std::find(script.values().begin(), script.values().end(), end) - script.values().begin();
    Ids endless({std::max(max_words + 1, script.size())});
    for (Index i = 0; i < endless.size(); ++i) endless(i) = script(std::min(i, script.size() - 1));
    const bool ends = length < script.size() && length < max_words;
    const Index n = ends ? length : max_words;
    const Ids asked({1}, {static_cast<std::int32_t>(ends ? n + 1 : n)});
    Case c{.criterion = "translations",
           .call = "greedy",
           .arguments = values(script, start, end, max_words),
           .results = values(first(endless, n), asked),
           .about =
               fmt::format("a model that says {} words{}, max_words {}", length,
                           length < script.size() ? " and the end" : " again and again", max_words),
           .names = {"script", "start", "end", "max_words", "the translation",
                     "how often the model is asked"}};
    if (ends)
        c.mistakes.push_back({"the end symbol is not a word of the translation",
                              values(first(endless, n + 1), asked)});
    else
        c.mistakes.push_back(
            {"one word more than max_words is said", values(first(endless, n + 1), asked)});
    if (!ends)
        c.mistakes.push_back(
            {"the model is asked once more, for a word that max_words does not allow",
             values(first(endless, n), Ids({1}, {static_cast<std::int32_t>(n + 1)}))});
    if (n > 0)
        c.mistakes.push_back({"the last word is lost", values(first(endless, n - 1), asked)});
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, Ids({3}, {5, 7, 2}), 10);
    add(cases, Ids({1}, {2}), 10);
    add(cases, Ids({2}, {8, 2}), 1);
    add(cases, Ids({2}, {8, 2}), 2);
    add(cases, Ids({1}, {4}), 6);
    const auto words = [&](Index n) {
        Ids ids = cases.ids({n}, 5);
        for (std::int32_t& word : ids.values()) word += 3;
        return ids;
    };
    add(cases, words(5), cases.between(1, 5));
    Ids script = words(9);
    script(cases.between(1, 8)) = 2;
    add(cases, script, 50);
    const char *const end = "your test notices a wrong end",
                      *const cap = "your test notices a missing cap",
                      *const prefix = "your test notices wrong prefixes";
    for (const char* criterion : {end, cap, prefix}) {
        cases.add_test(criterion, "own", "your own greedy");
        cases.add_test(criterion, "right", "a correct function that is not yours");
    }
    for (const char* what :
         {"the one in your file at first", "the end symbol is kept", "the last word is lost"})
        cases.add_test(end, what, fmt::format("this function: {}", what));
    for (const char* what : {"no cap", "the cap is one too large", "the cap is one too small"})
        cases.add_test(cap, what, fmt::format("this function: {}", what));
    for (const char* what : {"the model sees the newest word alone", "no start symbol",
                             "the newest word is missing in the prefix"})
        cases.add_test(prefix, what, fmt::format("this function: {}", what));
}
