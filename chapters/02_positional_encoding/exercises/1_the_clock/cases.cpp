#include "judge/answer/cases.hpp"

#include <cmath>

#include "chapters/02_positional_encoding/positional_encoding.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// A table whose columns are the sine or the cosine of t + first times a frequency.
Tensor table_of(const Tensor& like, const std::function<double(Index c)>& frequency,
                const std::function<bool(Index c)>& is_sine, Index first = 0) {
    Tensor table(like.shape());
    for (Index t = 0; t < table.dim(0); ++t)
        for (Index c = 0; c < table.dim(1); ++c) {
            const double angle = static_cast<double>(t + first) * frequency(c);
            table(t, c) = static_cast<Real>(is_sine(c) ? std::sin(angle) : std::cos(angle));
        }
    return table;
}

void add(Cases& cases, const char* criterion, Index max_len, Index d_model) {
    const Tensor right = sinusoid_table(max_len, d_model);
    const Index half = (d_model + 1) / 2;
    const auto pairs = [&](Index c) { return sinusoid_frequency(c / 2, d_model); };
    const auto halves = [&](Index c) { return sinusoid_frequency(c % half, d_model); };
    const auto columns = [&](Index c) { return sinusoid_frequency(c, d_model); };
    const auto twice = [&](Index c) { return std::sqrt(sinusoid_frequency(c / 2, d_model)); };
    const auto even = [](Index c) { return c % 2 == 0; };
    const auto odd = [](Index c) { return c % 2 != 0; };
    cases.add({.criterion = criterion,
               .call = "sinusoid_table",
               .arguments = values(max_len, d_model),
               .results = values(right),
               .about = fmt::format("{} positions, d_model {}", max_len, d_model),
               .names = {"max_len", "d_model", "PE"},
               .mistakes = {
                   {"the exponent counts columns, but both columns of a hand share one frequency",
                    values(table_of(right, columns, even))},
                   {"all sines come first, then all cosines, but they should alternate",
                    values(table_of(right, halves, [&](Index c) { return c < half; }))},
                   {"sines and cosines have changed places", values(table_of(right, pairs, odd))},
                   {"positions count from 0, not from 1", values(table_of(right, pairs, even, 1))},
                   {"the exponent is half of what it should be, -2i / d_model with i from 0 to "
                    "d_model/2 - 1",
                    values(table_of(right, twice, even))}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Index even = 2 * cases.between(3, 20), length = cases.between(2, 60);
    add(cases, "even widths", 8, 4);
    add(cases, "even widths", 1, 2);
    add(cases, "even widths", length, even);
    add(cases, "even widths", 5000, 6);
    add(cases, "odd widths", 2, 3);
    add(cases, "odd widths", 7, 1);
    add(cases, "odd widths", length, even + 1);
}
