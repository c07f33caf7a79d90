#include "chapters/02_positional_encoding/other_tables.hpp"

#include <cmath>

#include "chapters/02_positional_encoding/positional_encoding.hpp"

namespace abh {
// [column exponent]
Tensor column_exponent_table(Index max_len, Index d_model) {
    Tensor table = Tensor::zeros({max_len, d_model});
    for (Index t = 1; t < max_len; ++t)
        for (Index column = 0; column < d_model; ++column) {
            // sinusoid_table passes column / 2 here
            const double angle = static_cast<double>(t) * sinusoid_frequency(column, d_model);
            table(t, column) =
                static_cast<Real>(column % 2 == 0 ? std::sin(angle) : std::cos(angle));
        }
    return table;
}
// [sines then cosines]
Tensor sines_then_cosines(Index max_len, Index d_model) {
    const Tensor interleaved = sinusoid_table(max_len, d_model);
    const Index n_sines = (d_model + 1) / 2;  // an odd width has one more sine
    Tensor table(interleaved.shape());
    for (Index t = 0; t < max_len; ++t)
        for (Index column = 0; column < d_model; ++column)
            table(t, column % 2 * n_sines + column / 2) = interleaved(t, column);
    return table;
}

}  // namespace abh
