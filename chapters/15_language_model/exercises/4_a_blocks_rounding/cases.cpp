#include "judge/answer/cases.hpp"

#include <algorithm>
#include <cmath>

#include "chapters/15_language_model/published/blocks.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// Rounds each number to `least + scale q`, where `whole` makes a whole number of what q should be.
template <class F>
Tensor rounded(const Tensor& x, Real least, Real scale, const F& whole) {
    Tensor back(x.shape());
    for (Index i = 0; i < x.size(); ++i)
        back(i) = scale != 0 ? least + scale * whole((x(i) - least) / scale) : least;
    return back;
}

void add(Cases& cases, const char* criterion, const Tensor& x) {
    const auto nearest = [](Real q) { return std::round(q); };
    const auto [least, most] = std::ranges::minmax(x.values());
    const Real scale = (most - least) / 15;
    const Tensor right = rounded(x, least, scale, nearest);
    if (x.size() == 32) {  // the chapter's own blocks agree; scale and minimum are exact in fp16
        const BlockMatrix block = rounded_matrix(x.reshape({1, 32}), NumberKind::q4_1);
        require_close(right, block.read_rows(0, 1).reshape({32}), "a block in Q4_1");
    }
    Tensor above_zero = right.clone();
    for (Real& y : above_zero.values()) y -= least;
    const Real largest =
        *std::ranges::max_element(x.values(), {}, [](Real v) { return std::abs(v); });
    const Real low = std::min<Real>(least, 0), high = std::max<Real>(most, 0);
    cases.add(
        {.criterion = criterion,
         .call = "rounded_block",
         .arguments = values(x),
         .results = values(right),
         .about = fmt::format("{} numbers from {:.3f} to {:.3f}", x.size(), least, most),
         .names = {"numbers", "what they come back as"},
         .mistakes = {
             {"the numbers are cut off to a level below, not rounded to the nearest",
              values(rounded(x, least, scale, [](Real q) { return std::floor(q); }))},
             {"16 levels have 15 steps between them, not 16",
              values(rounded(x, least, (most - least) / 16, nearest))},
             {"the minimum is subtracted, but not added again", values(above_zero)},
             {"the levels reach to 0, although no number is there",
              values(rounded(x, low, (high - low) / 15, nearest))},
             {"this is Q4_0, which has no minimum", values(rounded(x, 0, largest / -8, [](Real q) {
                  return std::clamp<Real>(std::round(q), -8, 7);
              }))}}});
}

/// A block whose numbers are not halfway between levels: the lowest is `first` steps above 0.
void draw(Cases& cases, const char* criterion, Index n, Index first) {
    const Real scale = static_cast<Real>(cases.between(1, 3)) / 16;
    const Tensor off = cases.uniform({n}, -0.4, 0.4);
    const Index lowest = cases.between(0, n - 2);
    Tensor x({n});
    for (Index i = 0; i < n; ++i) {
        const Real q = static_cast<Real>(cases.between(1, 14)) + off(i);
        x(i) = scale * (static_cast<Real>(first) + (i == lowest ? 0 : i == lowest + 1 ? 15 : q));
    }
    add(cases, criterion, x);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "a block", Tensor({4}, {0.38, -0.40, 0.17, -0.09}));
    draw(cases, "a block", 7, -cases.between(4, 11));
    draw(cases, "a block", 32, -cases.between(4, 11));
    draw(cases, "one side of zero", 32, cases.between(3, 20));
    draw(cases, "one side of zero", 9, -15 - cases.between(3, 20));
    add(cases, "equal numbers", Tensor({3}, {0.75, 0.75, 0.75}));
    add(cases, "equal numbers", Tensor({1}, {-2}));
    add(cases, "equal numbers", Tensor({2}, {0, 0}));
}
