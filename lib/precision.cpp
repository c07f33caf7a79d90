#include "lib/precision.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <type_traits>

#include "lib/device.hpp"
#include "lib/eigen.hpp"
#include "lib/matmul.hpp"
#include "lib/random.hpp"
#include "lib/way.hpp"

namespace abh {
// [precision]
constexpr std::array names{"float", "bf16", "int8"};  // in the order of Precision

const char* to_string(Precision precision) {
    return names[static_cast<std::size_t>(precision)];
}

void set_precision(Precision precision) {
    if (precision != Precision::single) {
        const bool has_it =
            way() == Way::fast || (way() == Way::cuda && precision == Precision::bf16);
        require(has_it, "precision {}: the way {} does not have it, fast does",
                to_string(precision), to_string(way()));
        require(std::is_same_v<Real, float>, "precision {}: not in double precision",
                to_string(precision));
    }
    detail::current_precision = precision;
}
// [choose]
namespace {

/// The shortest time of some products, whose operands are rounded each time.
double seconds_of_product(Precision precision) {
    using Clock = std::chrono::steady_clock;
    const ScopedPrecision scoped(precision);
    Random random(1);
    Tensor a = normal({768, 512}, random.stream()), b = normal({512, 512}, random.stream());
    double shortest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 9; ++i) {
        a *= -1;
        b *= -1;
        const Clock::time_point start = Clock::now();
        matmul(a, b, {.transpose_b = true});
        synchronize();
        shortest = std::min(shortest, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return shortest;
}

}  // namespace

std::string choose_precision(const std::string& name) {
    require(name == "float" || name == "bf16" || name == "auto",
            "precision: '{}' is unknown, expected float, bf16 or auto", name);
    if (name == "float") return {};
    if (name == "auto" && way() == Way::plain)
        return fmt::format("precision float: the way {} has no other", to_string(way()));
    set_precision(Precision::bf16);
    if (way() == Way::fast && !has_bf16()) {
        set_precision(Precision::single);
        return "precision float: for bf16, this program must be built with oneDNN (libdnnl-dev), "
               "and run on a processor with AVX-512 BF16 or AMX";
    }
    if (way() == Way::cuda && !device_has_bf16()) {
        set_precision(Precision::single);
        return fmt::format(
            "precision float: bf16 needs a device of compute capability 8.0 or "
            "newer, and {} is older",
            device_name());
    }
    if (name == "bf16") return {};
    const double ratio =
        seconds_of_product(Precision::single) / seconds_of_product(Precision::bf16);
    if (ratio < 1.2) set_precision(Precision::single);
    return fmt::format("precision {}: a product in bf16 is {:.1f} times as fast as in float",
                       to_string(precision()), ratio);
}
// [rounded]
Tensor rounded(const Tensor& x, Precision precision) {
    Tensor y = x.clone();
    if (precision == Precision::bf16)
        vector(y) = vector(x).cast<float>().cast<Eigen::bfloat16>().cast<Real>();
    // [rounded: 8 bits]
    if (precision != Precision::int8) return y;
    for (Index r = 0; r < rows(x.shape()); ++r) {
        auto row = matrix(y).row(r).array();
        const Real largest = row.abs().maxCoeff<Eigen::PropagateNaN>(), scale = largest / 127;
        const Real per_number = 127 / largest;
        if (std::isfinite(per_number))
            row = (row * per_number).rint() * scale;
        else
            row = std::isnan(largest) ? largest : 0;  // the row's numbers are nearly or all 0
    }
    return y;
}

}  // namespace abh
