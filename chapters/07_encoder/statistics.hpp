#pragma once

#include <cmath>

#include "lib/eigen.hpp"

namespace abh {
// [statistics]
/// Of the first `n_words` rows, which are words: mean, standard deviation, mean norm of a row, mean
/// cosine to the input, mean cosine between two words.
inline Eigen::Array<double, 1, 5> statistics(const Tensor& y, const Tensor& input, Index n_words) {
    const double n = static_cast<double>(n_words);
    const auto words_of = [&](const Tensor& t) { return matrix(t).topRows(n_words).eval(); };
    const auto rows = words_of(y);
    const auto unit = rows.rowwise().normalized().eval();
    const auto unit_input = words_of(input).rowwise().normalized().eval();
    const auto cosines = (unit * unit.transpose()).eval();  // [words, words], 1 on the diagonal
    return {rows.mean(), std::sqrt((rows.array() - rows.mean()).square().mean()),
            rows.rowwise().norm().mean(), unit.cwiseProduct(unit_input).sum() / n,
            (cosines.sum() - cosines.trace()) / (n * (n - 1))};
}

}  // namespace abh
