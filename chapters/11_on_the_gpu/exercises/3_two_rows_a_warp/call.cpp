#include <algorithm>

#include "judge/answer/serve.hpp"
#include "lib/cuda/counts.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {
Tensor row_sums(const Tensor& x);
}

namespace {

using namespace abh;

/// The result, the bytes asked for, the requests beyond what is needed, and the barriers and
/// requests to shared memory, none of which is needed.
judge::Values counted(const Tensor& x) {
    cuda::count_kernels(true);
    judge::Values results = judge::values(mine::row_sums(x));
    Index bytes = 0, requests = 0, barriers = 0, shared = 0;
    for (const cuda::KernelCount& c : cuda::kernel_counts()) {
        bytes += c.bytes;
        requests += c.requests;
        barriers += c.barriers;
        shared += c.shared_requests;
    }
    cuda::count_kernels(false);
    const Index pairs = (x.dim(0) + 1) / 2, enough = pairs * ((x.dim(1) + 15) / 16 + 1);
    judge::append(results, bytes, std::max(Index{0}, requests - enough), barriers + shared);
    return results;
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"row_sums", function(abh::mine::row_sums)},
                  {"counted", [](const Values& x) { return counted(as<Tensor>(x.at(0))); }}});
}
