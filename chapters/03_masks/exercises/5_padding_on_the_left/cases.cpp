#include "judge/answer/cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "chapters/03_masks/masks.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// The weight of the keys from `first` to `last` in one row, where every score that is not hidden
/// is 0.
double weight_of(const Mask& mask, Index b, Index i, Index first, Index last) {
    const double fill = -1e9;
    double largest = fill, sum = 0, part = 0;
    for (Index j = 0; j < mask.dim(2); ++j)
        if (!mask(b, i, j)) largest = 0;
    for (Index j = 0; j < mask.dim(2); ++j) {
        const double e = std::exp((mask(b, i, j) ? fill : 0) - largest);
        sum += e;
        if (j >= first && j <= last) part += e;
    }
    return part / sum;
}

/// The number of rows of the masks for which something holds.
template <class Holds>
double count_rows(const Mask& mask, Holds holds) {
    double count = 0;
    for (Index b = 0; b < mask.dim(0); ++b)
        for (Index i = 0; i < mask.dim(1); ++i) count += holds(b, i);
    return count;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Index length = cases.between(7, 13);
    const std::array<Index, 3> n{cases.between(2, 4), length, cases.between(4, 6)};
    Ids ids({3, length});  // 1: a word, 0: a pad
    for (Index b = 0; b < 3; ++b)
        for (Index t = 0; t < length; ++t) ids(b, t) = t >= length - n[static_cast<std::size_t>(b)];
    const Mask pads = padding_mask(ids, ids), future = look_ahead_mask(ids);
    const Mask mask = mask_or(pads, future);
    const auto row_of = [&](const Mask& m, Index b, Index i) {
        return m.values().subspan(static_cast<std::size_t>((b * length + i) * length),
                                  static_cast<std::size_t>(length));
    };
    const double empty = count_rows(
        mask, [&](Index b, Index i) { return std::ranges::count(row_of(mask, b, i), 0) == 0; });
    const double changed = count_rows(mask, [&](Index b, Index i) {
        return !std::ranges::equal(row_of(mask, b, i), row_of(future, b, i));
    });
    const double of_words = static_cast<double>(n[0] + n[2]);

    const auto add = [&](const char* criterion, const char* name, double right, double tolerance,
                         const std::vector<Mistake>& mistakes) {
        cases.add({.criterion = criterion,
                   .call = name,
                   .arguments = values(length, n[0], n[1], n[2]),
                   .results = values(right),
                   .tolerance = tolerance,
                   .names = {"L", "n_0", "n_1", "n_2"},
                   .mistakes = mistakes});
    };
    add("empty rows", "empty_rows", empty, 1e-9,
        {{"a word sees itself, so only the rows of the pads hide every key", values(empty + 2)},
         {"no row hides every key if the padding comes after the words, but here it comes before "
          "them",
          values(0.0)}});
    add("weight", "weight", weight_of(mask, 0, 0, 0, 0), 5e-3,
        {{"all scores of the row are equal, and softmax turns them into weights that sum to 1",
          values(0.0)},
         {"the weights of a row sum to 1", values(1.0)}});
    add("changed rows", "changed_rows", changed, 1e-9,
        {{"not only the rows of the pads change, because a word sees the pads before it, too",
          values(empty)},
         {"the rows of the pads change, too, because they hid every key and then see pads",
          values(of_words)},
         {"a sentence without pads does not change", values(3.0 * static_cast<double>(length))}});
    add("pad weight", "pad_weight", weight_of(future, 0, length - 1, 0, length - n[0] - 1), 5e-3,
        {{"this is the weight of the words",
          values(weight_of(future, 0, length - 1, length - n[0], length - 1))},
         {"pads are not hidden here, because they are in the past", values(0.0)}});
}
