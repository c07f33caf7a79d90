#include "judge/answer/cases.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "lib/eigen.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

float wide(std::uint32_t half) {
    return std::bit_cast<float>(half << 16);
}

/// The absolute value of a half; the one that follows the largest counts as 2^128.
double size(std::uint32_t half) {
    return half == 0x7f80 ? std::ldexp(1.0, 128) : static_cast<double>(wide(half));
}

/// The nearer of the two halves that a number lies between.
std::int32_t nearest(float weight) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(weight), sign = bits >> 31 << 15,
                        below = bits >> 16 & 0x7fff, above = below + 1;
    const double x = std::abs(static_cast<double>(weight));
    if (below >= 0x7f80) return static_cast<std::int32_t>(sign | 0x7f80);
    const double down = x - size(below), up = size(above) - x;
    const bool upwards = up < down || (up == down && above % 2 == 0);
    return static_cast<std::int32_t>(sign | (upwards ? above : below));
}

void add_rounding(Cases& cases, const char* criterion, Tensor weights, const char* about,
                  bool half_way = false) {
    Ids right(weights.shape()), cut(weights.shape()), away(weights.shape());
    for (std::size_t i = 0; i < weights.values().size(); ++i) {
        const float weight = static_cast<float>(weights.values()[i]);
        weights.values()[i] = static_cast<Real>(weight);
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(weight);
        right.values()[i] = nearest(weight);
        cut.values()[i] = static_cast<std::int32_t>(bits >> 16);
        away.values()[i] = static_cast<std::int32_t>((bits + 0x8000) >> 16);
    }
    cases.add(
        {.criterion = criterion,
         .call = "to_half",
         .arguments = values(weights),
         .results = values(right),
         .tolerance = 0,
         .about = about,
         .names = {"weights", "the half"},
         .mistakes = {
             {half_way ? "half-way numbers all go down: each should go to an even last bit"
                       : "the lower bits are cut off, not rounded",
              values(cut)},
             {"half-way numbers are rounded away from 0, not to an even last bit", values(away)}}});
}

Tensor times(const Tensor& x, const Ids& halves) {
    Tensor y({x.dim(0), halves.dim(0)}), w(halves.shape());
    for (std::size_t i = 0; i < w.values().size(); ++i)
        w.values()[i] = static_cast<Real>(wide(static_cast<std::uint32_t>(halves.values()[i])));
    matrix(y).noalias() = matrix(x) * matrix(w).transpose();
    return y;
}

void add_product(Cases& cases, Index n_rows, Index d_in, Index d_out) {
    const Tensor x = cases.normal({n_rows, d_in}), weights = cases.normal({d_out, d_in});
    Ids halves(weights.shape());
    for (std::size_t i = 0; i < weights.values().size(); ++i)
        halves.values()[i] = nearest(static_cast<float>(weights.values()[i]));
    cases.add({.criterion = "products",
               .call = "product",
               .arguments = values(x, halves),
               .results = values(times(x, halves)),
               .tolerance = 1e-4,  // single precision, in any order
               .about = "x " + to_string(x.shape()) + ", w " + to_string(halves.shape()),
               .names = {"x", "w", "y"}});
}

void add_large(Cases& cases, Index n_rows, const Ids& halves) {
    const Tensor x = cases.normal({n_rows, halves.dim(1)});
    cases.add({.criterion = "few rows, fast",
               .call = "large_product",
               .arguments = values(x),
               .results = values(times(x, halves)),
               .tolerance = 1e-4,
               .about = "x " + to_string(x.shape()) + ", w " + to_string(halves.shape()),
               .names = {"x", "y"}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add_rounding(cases, "nearest", cases.normal({40}), "40 numbers, drawn");
    add_rounding(cases, "nearest", cases.uniform({40}, -1e-3, 1e-3), "40 small numbers, drawn");
    const Real step = Real(1) / 256;  // half the distance between neighboring halves at 1
    add_rounding(cases, "edges",
                 Tensor({6}, {1 + step, 1 + 3 * step, 1 + 5 * step, -1 - step, -1 - 3 * step, 0}),
                 "numbers half-way between two halves", true);
    const Real largest = static_cast<Real>(std::numeric_limits<float>::max());
    add_rounding(
        cases, "edges",
        Tensor({4}, {largest, -largest, std::numeric_limits<Real>::infinity(), Real(1.99999)}),
        "numbers beyond the largest half, infinity, a carry");
    add_product(cases, 1, 1, 1);
    add_product(cases, cases.between(2, 5), 33, 7);
    add_product(cases, 1, cases.between(40, 90), cases.between(2, 9));
    add_product(cases, cases.between(5, 9), 64, 3);
    constexpr Index d = 2048;
    const Tensor weights = normal({d, d}, Random(1).stream());
    Ids halves({d, d});
    for (std::size_t i = 0; i < weights.values().size(); ++i)
        halves.values()[i] = static_cast<std::int32_t>(
            std::bit_cast<std::uint32_t>(static_cast<float>(weights.values()[i])) >> 16);
    add_large(cases, 1, halves);
    add_large(cases, 4, halves);
}
