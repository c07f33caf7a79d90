#include "judge/answer/cases.hpp"

#include <functional>

#include "chapters/14_on_many_machines/ranks/tree_sum.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Tensor row(const Tensor& parts, Index i) {
    return parts.rows(i, i + 1).reshape({parts.dim(1)}).clone();
}

Tensor tree(const Tensor& parts) {
    TreeSum sum;
    for (Index i = 0; i < parts.dim(0); ++i) sum.add({i, i + 1}, row(parts, i));
    return sum.total();
}

Tensor from_left_to_right(const Tensor& parts) {
    Tensor sum = row(parts, 0);
    for (Index i = 1; i < parts.dim(0); ++i) sum += row(parts, i);
    return sum;
}

/// Adds in rounds: of the `count` sums that are left, i takes `partner(i, count)`.
Tensor in_rounds(const Tensor& parts, const std::function<Index(Index i, Index count)>& partner,
                 bool odd_goes_on = true) {
    std::vector<Tensor> left;
    for (Index i = 0; i < parts.dim(0); ++i) left.push_back(row(parts, i));
    while (left.size() > 1) {
        const Index count = static_cast<Index>(left.size());
        std::vector<Tensor> sums;
        for (Index i = 0; i < count; ++i) {
            const Index other = partner(i, count);
            if (other > i && other < count)
                sums.push_back(left[static_cast<std::size_t>(i)] +
                               left[static_cast<std::size_t>(other)]);
            else if (other == count && odd_goes_on)
                sums.push_back(left[static_cast<std::size_t>(i)]);
        }
        left = sums;
    }
    return left.front();
}

Index neighbor(Index i, Index) {
    return i % 2 == 0 ? i + 1 : 0;
}

/// The partner in the other half: i takes i + count / 2, rounded up.
Index half_away(Index i, Index count) {
    return i < (count + 1) / 2 ? i + (count + 1) / 2 : 0;
}

Tensor halves(const Tensor& parts) {
    const Index count = parts.dim(0);
    if (count == 1) return row(parts, 0);
    return halves(parts.rows(0, count / 2)) + halves(parts.rows(count / 2, count));
}

void add(Cases& cases, const char* criterion, const Tensor& parts) {
    const Tensor right = tree(parts);
    require_close(right, in_rounds(parts, neighbor), "tree_sum", 0);
    cases.add(
        {.criterion = criterion,
         .call = "tree_sum",
         .arguments = values(parts),
         .results = values(right),
         .tolerance = 0,
         .about = fmt::format("parts {}", parts.shape()),
         .names = {"parts", "sum"},
         .mistakes = {
             {"the parts are added from left to right", values(from_left_to_right(parts))},
             {"neighbors are to be added, 2i and 2i + 1, not parts that are half of them apart",
              values(in_rounds(parts, half_away))},
             {"the parts are cut in the middle, instead of at the largest power of two",
              values(halves(parts))},
             {"a last part without a partner is lost in its round, but it goes on to the "
              "next round",
              values(in_rounds(parts, neighbor, false))}}});
}

/// Normal numbers, with two large ones in each column that cancel.
Tensor drawn(Cases& cases, Index count, Index n) {
    Tensor parts = cases.normal({count, n});
    for (Index j = 0; j < n; ++j) {
        const Index first = cases.between(0, count - 1),
                    second = (first + cases.between(1, count - 1)) % count;
        parts(first, j) = Real(0x1p60);
        parts(second, j) = Real(-0x1p60);
    }
    return parts;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const Index count : {4, 8, 16}) add(cases, "a power of two", drawn(cases, count, 20));
    const Real large = Real(0x1p60);
    add(cases, "any number of parts", Tensor({5, 1}, {large, 1, -large, 2, 4}));
    for (const Index count : {3, 5, 6, 7, 11, 13})
        add(cases, "any number of parts", drawn(cases, count, 20));
    for (const Index count : {1, 2})
        add(cases, "one or two parts", cases.normal({count, cases.between(1, 9)}));
}
