#include "judge/answer/cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

using namespace abh;
using namespace abh::judge;

namespace {

constexpr Real lowest = std::numeric_limits<Real>::lowest();

struct Found {
    Real m = lowest, l = 0;
};

/// m and l of scores, computed in two passes.
Found found(std::span<const Real> z) {
    Found f;
    for (const Real score : z) f.m = std::max(f.m, score);
    for (const Real score : z) f.l += std::exp(score - f.m);
    return f;
}

Tensor one_number(Real x) {
    return Tensor({1}, {x});
}

void add_row(Cases& cases, const char* criterion, const Tensor& z, const char* about) {
    Tensor largest(z.shape()), sum(z.shape()), uncorrected(z.shape()), restarted(z.shape());
    for (Index i = 0; i < z.size(); ++i) {
        const Found so_far = found(z.values().first(static_cast<std::size_t>(i + 1)));
        largest(i) = so_far.m;
        sum(i) = so_far.l;
        const Real more = std::exp(z(i) - largest(i));
        uncorrected(i) = (i > 0 ? uncorrected(i - 1) : 0) + more;
        restarted(i) = i > 0 && largest(i) == largest(i - 1) ? restarted(i - 1) + more : 1;
    }
    cases.add({.criterion = criterion,
               .call = "take",
               .arguments = values(z),
               .results = values(largest, sum),
               .about = about,
               .names = {"z", "m", "l"},
               .mistakes = {{"the sum so far is not corrected when the largest score changes, or "
                             "only after m has changed",
                             values(largest, uncorrected)},
                            {"the sum so far is thrown away when the largest score changes",
                             values(largest, restarted)}}});
}

void add_halves(Cases& cases, const char* criterion, std::span<const Real> row, std::size_t n) {
    const auto first = row.first(n), second = row.subspan(n);
    const Found a = found(first), b = found(second), both = found(row);
    const Tensor m = one_number(both.m);
    cases.add({.criterion = criterion,
               .call = "join",
               .arguments = values(a.m, a.l, b.m, b.l),
               .results = values(m, one_number(both.l)),
               .about = fmt::format("{} scores and {}", first.size(), second.size()),
               .names = {"m", "l", "m_2", "l_2", "m of both", "l of both"},
               .mistakes = {{"the two sums are added as they are, but belong to different m",
                             values(m, one_number(a.l + b.l))}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto sorted = [](const Tensor& drawn, bool rising) {
        Tensor z = drawn.clone();
        std::sort(z.values().begin(), z.values().end());
        if (!rising) std::reverse(z.values().begin(), z.values().end());
        return z;
    };
    const char* each = "score by score";
    add_row(cases, each, Tensor({3}, {0, std::log(Real(2)), std::log(Real(4))}), "by hand");
    add_row(cases, each, sorted(cases.normal({7}), true), "rising scores");
    add_row(cases, each, sorted(cases.normal({7}), false), "falling scores");
    add_row(cases, each, cases.normal({17}), "random scores");
    add_row(cases, each, Tensor::full({4}, Real(-2.5)), "equal scores");

    add_row(cases, "large scores", cases.uniform({9}, -2000, -1000), "below -1000");
    add_row(cases, "large scores", cases.uniform({9}, -5000, 5000), "of up to 5000");
    add_row(cases, "large scores", sorted(cases.uniform({9}, 700, 720), true), "above 700, rising");

    const Tensor small = cases.normal({12}), large = cases.uniform({9}, 800, 805);
    for (const std::size_t n : {1u, 5u, 11u}) add_halves(cases, "two halves", small.values(), n);
    const Tensor rising = sorted(small, true), falling = sorted(small, false);
    add_halves(cases, "two halves", rising.values(), 6);
    add_halves(cases, "two halves", falling.values(), 6);
    add_halves(cases, "two halves", large.values(), 4);
    const Tensor row = cases.normal({6});
    for (const std::size_t n : {0u, 6u})
        add_halves(cases, "halves without scores", row.values(), n);
    add_halves(cases, "halves without scores", {}, 0);
}
