// Exercise 02.2: a shift that turns the wrong hands, and the test that finds it.
#include <cmath>
#include <functional>

#include "chapters/02_positional_encoding/positional_encoding.hpp"

namespace abh::mine {

/// Turns the code of each position t into the code of position t + delta.
/// @param codes  rows of `sinusoid_table`, [L, d_model], d_model even
/// @param delta  may be negative
/// @return       [L, d_model]
Tensor shifted(const Tensor& codes, Index delta) {
    const Index d_model = codes.dim(1);
    Tensor y(codes.shape());
    for (Index t = 0; t < codes.dim(0); ++t)
        for (Index i = 0; i < d_model / 2; ++i) {
            // solution
            const Index of_sine = 2 * i, of_cosine = 2 * i + 1;
            const double angle = static_cast<double>(delta) * sinusoid_frequency(i, d_model);
            // stub
            // const Index of_sine = i, of_cosine = d_model / 2 + i;
            // const double angle = static_cast<double>(delta) * sinusoid_frequency(2 * i, d_model);
            // end
            const Real c = static_cast<Real>(std::cos(angle)),
                       s = static_cast<Real>(std::sin(angle));
            const Real sine = codes(t, of_sine), cosine = codes(t, of_cosine);
            y(t, of_sine) = c * sine + s * cosine;
            y(t, of_cosine) = c * cosine - s * sine;
        }
    return y;
}

/// Your test: whether `f` does what `shifted` promises.
bool accepts(const std::function<Tensor(const Tensor& codes, Index delta)>& f) {
    // solution
    const Tensor table = sinusoid_table(12, 6);
    return max_difference(f(table.rows(4, 9), 3), table.rows(7, 12)) < 1e-9 &&
           max_difference(f(table.rows(4, 9), -2), table.rows(2, 7)) < 1e-9;
    // stub
    // const Tensor table = sinusoid_table(12, 6);
    // const Tensor same = f(table, 0), turned = f(table, 5);
    // return max_difference(same, table) < 1e-9 &&
    //        std::abs(dot(turned, turned) - dot(table, table)) < 1e-9;
    // end
}

}  // namespace abh::mine
