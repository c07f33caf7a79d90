#include "judge/answer/cases.hpp"

#include <cmath>

#include "chapters/02_positional_encoding/positional_encoding.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// Each pair of columns turned by `sign` times the angle of its position.
Tensor rotated(const Tensor& x, Index first, Real sign = 1, bool halves = false) {
    const Index d = x.dim(2);
    Tensor y(x.shape());
    for (Index b = 0; b < x.dim(0); ++b)
        for (Index i = 0; i < d / 2; ++i)
            for (Index t = 0; t < x.dim(1); ++t) {
                const Real angle = static_cast<Real>(first + t) *
                                   static_cast<Real>(sinusoid_frequency(i, d)) * sign;
                const Index p = halves ? i : 2 * i, q = halves ? d / 2 + i : 2 * i + 1;
                y(b, t, p) = std::cos(angle) * x(b, t, p) + std::sin(angle) * x(b, t, q);
                y(b, t, q) = std::cos(angle) * x(b, t, q) - std::sin(angle) * x(b, t, p);
            }
    return y;
}

/// The same, but the second number of a pair is computed from the new first number.
Tensor overwritten(const Tensor& x, Index first, Real sign) {
    Tensor y = rotated(x, first, sign);
    for (Index b = 0; b < x.dim(0); ++b)
        for (Index t = 0; t < x.dim(1); ++t)
            for (Index i = 0; i < x.dim(2) / 2; ++i) {
                const Real angle = static_cast<Real>(first + t) *
                                   static_cast<Real>(sinusoid_frequency(i, x.dim(2))) * sign;
                y(b, t, 2 * i + 1) =
                    std::cos(angle) * x(b, t, 2 * i + 1) - std::sin(angle) * y(b, t, 2 * i);
            }
    return y;
}

void add(Cases& cases, const char* criterion, const Tensor& x, Index first) {
    const bool forward = std::string(criterion) != "backward";
    const Tensor right = rotated(x, first, forward ? 1 : -1);
    if (!forward) {
        Tensor at = cases.normal(x.shape());
        require_close(right, differences([&] { return rotated(at, first); }, at, x), "backward");
    }
    const Real sign = forward ? 1 : -1;
    cases.add(
        {.criterion = criterion,
         .call = forward ? "rotate" : "rotate_backward",
         .arguments = values(x, first),
         .results = values(right),
         .about = fmt::format("{} {}, first {}", forward ? "x" : "dy", x.shape(), first),
         .names = {forward ? "x" : "dy", "first", forward ? "y" : "dx"},
         .mistakes = {
             {forward ? "each pair is turned the wrong way; check the sign of the sine in Rot"
                      : "this turns as forward does; which matrix is the transpose of a rotation?",
              values(rotated(x, first, -sign))},
             {"columns i and d/2 + i are turned together, but 2i and 2i + 1 are a pair",
              values(rotated(x, first, sign, true))},
             {"a pair's second number is made from the new first number, not from the old",
              values(overwritten(x, first, sign))},
             {"positions are counted from 0, not from first", values(rotated(x, 0, sign))}}});
}

/// Checks that rotating rows (0, 1, 0, 1, ...) gives the table.
void check_with_table() {
    Tensor x({1, 5, 6});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<Real>(i % 2);
    require_close(rotated(x, 3).reshape({5, 6}), sinusoid_table(8, 6).rows(3, 8), "rotate");
}

}  // namespace

int main(int argc, char** argv) {
    check_with_table();
    Cases cases(argc, argv);
    const Index L = cases.between(2, 9), first = cases.between(2, 40);
    const Shape shapes[] = {{1, L, 2}, {1, 1, 8}, {3, L, 6}, {2, 4, 10}};
    for (const Shape& shape : shapes) add(cases, "rotate", cases.normal(shape), 0);
    for (const Shape& shape : shapes)
        add(cases, "positions from first", cases.normal(shape), first);
    add(cases, "positions from first", Tensor({1, 2, 2}, {1, 0, 1, 0}), 1);
    for (const Shape& shape : shapes) {
        add(cases, "backward", cases.normal(shape), 0);
        add(cases, "backward", cases.normal(shape), first);
    }
}
