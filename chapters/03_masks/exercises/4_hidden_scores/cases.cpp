#include "judge/answer/cases.hpp"

#include <algorithm>
#include <array>

#include "chapters/03_masks/attention_mask.hpp"
#include "chapters/03_masks/masks.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Index ones(const Mask& mask) {
    return std::ranges::count(mask.values(), 1);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Index length = cases.between(9, 16);
    Index heads;
    do heads = cases.between(3, 8);
    while (heads == 3);  // so that heads are not confused with the 3 sentences
    const std::array<Index, 3> n{cases.between(6, 8), cases.between(2, 5), cases.between(4, 7)};
    Ids ids({3, length});  // 1: a word, 0: a pad
    for (Index b = 0; b < 3; ++b)
        for (Index t = 0; t < length; ++t) ids(b, t) = t < n[static_cast<std::size_t>(b)];
    const Index pads = ones(padding_mask(ids, ids)), later = ones(look_ahead_mask(ids));
    const Mask mask = (hide_pads(ids) | hide_future()).dense({3, heads, length, length});
    const Index either = ones(mask), scores = 3 * heads * length * length;

    const auto add = [&](const char* name, Index right, std::vector<Mistake> mistakes) {
        if (right != mask.size())
            mistakes.push_back({"the heads are forgotten, but each has its own scores",
                                values(static_cast<Real>(right) / static_cast<Real>(heads))});
        cases.add({.criterion = name,
                   .call = name,
                   .arguments = values(length, heads, n[0], n[1], n[2]),
                   .results = values(static_cast<Real>(right)),
                   .names = {"L", "H", "n_0", "n_1", "n_2"},
                   .mistakes = std::move(mistakes)});
    };
    const auto number = [](Index x) { return values(static_cast<Real>(x)); };
    add("padding", heads * pads,
        {{"these are the pads, but each is hidden from every query", number(heads * pads / length)},
         {"these are the scores that are seen", number(scores - heads * pads)}});
    add("future", heads * later,
        {{"these are the scores that are seen, or the diagonal is hidden, too, but a word sees "
          "itself",
          number(heads * (later + 3 * length))},
         {"this is one sentence, not the batch", number(heads * later / 3)}});
    add("either", heads * either,
        {{"the scores that both masks hide are counted twice", number(heads * (pads + later))},
         {"these are the scores that both masks hide", number(heads * (pads + later - either))},
         {"these are the scores that are seen", number(scores - heads * either)}});
    add("table", mask.size(),
        {{"one table is enough for all heads", number(scores)},
         {"each sentence has its own table", number(length * length)}});
}
