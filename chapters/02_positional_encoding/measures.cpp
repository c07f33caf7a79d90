#include "chapters/02_positional_encoding/measures.hpp"

#include <algorithm>
#include <cmath>

#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "lib/eigen.hpp"
#include "lib/matmul.hpp"

namespace abh {
// [still]
Index count_still(const Tensor& table, Index first) {
    const auto moving = matrix(table).bottomRows(table.dim(0) - first);
    return ((moving.colwise().maxCoeff() - moving.colwise().minCoeff()).array() < Real(0.01))
        .count();
}
// [dots]
Tensor dots_by_distance(const Tensor& table, Index n, Index first) {
    const Tensor dots = matmul(table, table, {.transpose_b = true});  // [L, L]
    Tensor range({2, n});
    for (Index shift = 0; shift < n; ++shift) {
        const auto pairs = matrix(dots).diagonal(shift);  // all t and t + shift
        range(0, shift) = pairs.tail(pairs.size() - first).minCoeff();
        range(1, shift) = pairs.tail(pairs.size() - first).maxCoeff();
    }
    return range;
}
// [rotation]
double rotation_error(const Tensor& table, Index shift) {
    const Index d_model = table.dim(1), n = table.dim(0) - shift;
    Real worst = 0;
    for (Index i = 0; i < d_model / 2; ++i) {
        const double angle = static_cast<double>(shift) * sinusoid_frequency(i, d_model);
        const auto c = static_cast<Real>(std::cos(angle)), s = static_cast<Real>(std::sin(angle));
        const auto sine = matrix(table).col(2 * i), cosine = matrix(table).col(2 * i + 1);
        worst = std::max(
            {worst, (c * sine.head(n) + s * cosine.head(n) - sine.tail(n)).cwiseAbs().maxCoeff(),
             (c * cosine.head(n) - s * sine.head(n) - cosine.tail(n)).cwiseAbs().maxCoeff()});
    }
    return static_cast<double>(worst);
}
// [single precision]
double single_precision_error(const Tensor& table) {
    double worst = 0;
    for (Index i = 0; 2 * i < table.dim(1); ++i) {
        const auto frequency = static_cast<float>(sinusoid_frequency(i, table.dim(1)));
        for (Index t = 0; t < table.dim(0); ++t) {
            const float sine = std::sin(static_cast<float>(t) * frequency);
            worst = std::max<double>(worst, std::abs(static_cast<Real>(sine) - table(t, 2 * i)));
        }
    }
    return worst;
}

}  // namespace abh
