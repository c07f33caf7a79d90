#include <algorithm>

#include "judge/answer/serve.hpp"
#include "lib/cuda/counts.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {
std::vector<Tensor> softmax(const Tensor& z);
}

namespace {

using namespace abh;

/// Sectors that 32 neighbors at a time touch when they read rows of `n` numbers.
Index sectors_of(Index n_rows, Index n) {
    constexpr Index real = sizeof(Real), sector = 32;
    Index count = 0;
    for (Index r = 0; r < n_rows; ++r)
        for (Index j = 0; j < n; j += 32) {
            const Index first = (r * n + j) * real, end = (r * n + std::min(j + 32, n)) * real;
            count += (end - 1) / sector - first / sector + 1;
        }
    return count;
}

/// The results, and the emulator's counts of all kernels together.
judge::Values counted(const Tensor& z) {
    cuda::count_kernels(true);
    judge::Values results = judge::values(mine::softmax(z));
    Index bytes = 0, sectors = 0, barriers = 0, shared = 0;
    for (const cuda::KernelCount& c : cuda::kernel_counts()) {
        bytes += c.bytes;
        sectors += c.sectors;
        barriers += c.barriers;
        shared += c.shared_requests;
    }
    cuda::count_kernels(false);
    const Index enough = 2 * sectors_of(z.dim(0), z.dim(1)) + z.dim(0);
    judge::append(results, bytes, std::max(Index{0}, sectors - enough), barriers + shared);
    return results;
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"softmax", function(abh::mine::softmax)},
                  {"counted", [](const Values& z) { return counted(as<Tensor>(z.at(0))); }}});
}
