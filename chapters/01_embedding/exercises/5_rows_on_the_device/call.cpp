#include <algorithm>

#include "judge/answer/serve.hpp"
#include "lib/cuda/counts.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {
Tensor gather(const Tensor& table, const Ids& ids, Real factor);
}

namespace {

using namespace abh;

/// The rows, and the emulator's counts of all kernels together.
std::pair<Tensor, cuda::KernelCount> counted(const Tensor& table, const Ids& ids, Real factor) {
    cuda::count_kernels(true);
    const Tensor y = mine::gather(table, ids, factor);
    cuda::KernelCount sum;
    for (const cuda::KernelCount& c : cuda::kernel_counts()) {
        sum.blocks += c.blocks;
        sum.threads += c.threads;
        sum.sectors += c.sectors;
    }
    cuda::count_kernels(false);
    return {y, sum};
}

judge::Values pieces(const Tensor& table, const Ids& ids, Real factor) {
    const auto [y, count] = counted(table, ids, factor);
    // a quarter more than two rows of whole sectors per id and two sectors of ids per 32 numbers
    const Index sector = 32 / static_cast<Index>(sizeof(Real));
    const Index enough = 5 * (2 * y.size() / sector + 2 * (y.size() / 32 + 1)) / 4;
    return judge::values(y, std::max(Index{0}, count.sectors - enough));
}

judge::Values idle(const Tensor& table, const Ids& ids, Real factor) {
    const auto [y, count] = counted(table, ids, factor);
    const Index block = count.threads / std::max(Index{1}, count.blocks);
    return judge::values(y, std::max(Index{0}, count.threads - y.size() - (block - 1)),
                         std::max(Index{0}, y.size() - count.threads));
}

template <class F>
judge::Function with_three(F f) {
    return [f](const judge::Values& v) {
        return f(judge::as<Tensor>(v.at(0)), judge::as<Ids>(v.at(1)), judge::as<Real>(v.at(2)));
    };
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"gather", function(abh::mine::gather)},
                  {"pieces", with_three(pieces)},
                  {"idle", with_three(idle)}});
}
