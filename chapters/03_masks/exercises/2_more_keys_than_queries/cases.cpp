#include "judge/answer/cases.hpp"

#include <algorithm>

#include "chapters/03_masks/masks.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// Hides the keys that come more than `last` places after query i.
Mask behind(Index n_queries, Index n_keys, Index last) {
    Mask mask({1, n_queries, n_keys});
    for (Index i = 0; i < n_queries; ++i)
        for (Index j = 0; j < n_keys; ++j) mask(0, i, j) = j > i + last;
    return mask;
}

void add(Cases& cases, Index n_queries, Index n_keys) {
    const Index first = n_keys - n_queries;
    const Mask mask = behind(n_queries, n_keys, first);
    if (first == 0 &&
        !std::ranges::equal(mask.values(), look_ahead_mask(Ids({1, n_keys})).values()))
        throw std::logic_error("look-ahead mask: differs from the book's");
    cases.add({.criterion = first == 0 ? "as many keys as queries" : "more keys",
               .call = "look_ahead_mask",
               .arguments = values(n_queries, n_keys),
               .results = values(mask),
               .about = fmt::format("{} queries, {} keys", n_queries, n_keys),
               .names = {"n_queries", "n_keys", "mask"},
               .mistakes = {{"a query does not see the key at its own place",
                             values(behind(n_queries, n_keys, first - 1))},
                            {"a query sees the key after its own place",
                             values(behind(n_queries, n_keys, first + 1))},
                            {"query 0 is at key 0 here; the last query belongs at the last key",
                             values(behind(n_queries, n_keys, 0))},
                            {"the shift by the number of earlier keys has the wrong sign",
                             values(behind(n_queries, n_keys, -first))},
                            {"keep and hide are mixed up: a 1 hides", values(invert(mask))}}});
}

void add_refusal(Cases& cases, Index n_queries, Index n_keys) {
    cases.add({.criterion = "the refusal",
               .call = "refusal",
               .arguments = values(n_queries, n_keys),
               .results = values("std::invalid_argument with both numbers"),
               .about = fmt::format("{} queries, {} keys", n_queries, n_keys),
               .names = {"n_queries", "n_keys", "what happens"}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const Index n : {cases.between(4, 9), Index(2), Index(1)}) add(cases, n, n);
    add(cases, 2, 4);
    add(cases, 1, 7);
    add(cases, 3, 4);
    const Index n = cases.between(3, 6);
    add(cases, n, n + cases.between(2, 6));
    add_refusal(cases, 3, 2);
    add_refusal(cases, cases.between(30, 50), cases.between(20, 29));
}
