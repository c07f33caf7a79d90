#include "chapters/12_where_the_time_goes/traps.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "lib/eigen.hpp"
#include "lib/fast/exp.hpp"
#include "lib/random.hpp"

namespace abh {
namespace {
// [memory]
/// Writes 64 MiB: to fresh memory, whose pages the system has yet to provide, or to memory that has
/// been written before.
Trap pages() {
    constexpr std::size_t n = (std::size_t{1} << 26) / sizeof(Real);
    const auto kept = std::make_shared<std::vector<Real>>(n);
    const auto fresh = [] {
        const auto buffer = std::make_unique_for_overwrite<Real[]>(n);
        std::fill_n(buffer.get(), n, Real(1));
        return Tensor({1}, {buffer[n - 1]});
    };
    const auto again = [=] {
        std::fill(kept->begin(), kept->end(), Real(1));
        return Tensor({1}, {kept->back()});
    };
    return {"pages", "64 MiB in fresh memory", fresh, again};
}
// [loops]
constexpr Index some = 1 << 15;

/// Writes a mask of bytes. A byte may alias anything, even the pointers inside the tensors, so
/// these are loaded again for each element unless local variables hold them.
Trap mask() {
    const Tensor x = normal({some}, Random(1).stream());
    const auto bytes = [] { return std::make_shared<Mask>(Shape{some}); };  // one for each side
    const auto samples = [](const Mask& kept) {
        Tensor y({some / 512});
        for (Index i = 0; i < y.size(); ++i) y(i) = static_cast<Real>(kept(512 * i));
        return y;
    };
    const auto through_tensors = [=, kept = bytes()] {
        for (Index i = 0; i < some; ++i) kept->data()[i] = x.data()[i] >= 0;
        return samples(*kept);
    };
    const auto through_pointers = [=, kept = bytes()] {
        const Real* const from = x.data();
        std::uint8_t* const to = kept->data();
        for (Index i = 0; i < some; ++i) to[i] = from[i] >= 0;
        return samples(*kept);
    };
    return {"mask", "bytes written through an object", through_tensors, through_pointers};
}

/// A sum in the order of the numbers, in which each addition waits for the one before, or Eigen's
/// sum, which adds in lanes.
Trap sum() {
    const Tensor x = uniform({some}, 0, 1, Random(1).stream());
    const auto in_order = [=] {
        Real sum = 0;
        for (const Real value : x.values()) sum += value;
        return Tensor({1}, {sum});
    };
    return {"sum", "a sum in order", in_order, [=] { return Tensor({1}, {vector(x).sum()}); }};
}

/// Exponentials one by one, or several at a time as vectors.
Trap exponentials() {
    const Tensor x = uniform({some}, -10, 0, Random(1).stream());
    const auto one_by_one = [=] {
        Tensor y({some});
        std::transform(x.values().begin(), x.values().end(), y.data(),
                       [](Real value) { return std::exp(value); });
        return y;
    };
    const auto many = [=] {
        Tensor y({some});
        exp_and_sum(x.data(), 0, y.data(), some);
        return y;
    };
    return {"exp", "exponentials one by one", one_by_one, many};
}

}  // namespace
// [list]
std::vector<Trap> traps() {
    return {pages(), mask(), sum(), exponentials()};
}

}  // namespace abh
