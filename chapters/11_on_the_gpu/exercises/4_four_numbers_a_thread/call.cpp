#include <algorithm>

#include "judge/answer/serve.hpp"
#include "lib/cuda/counts.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {
Tensor product(const Tensor& a, const Tensor& b);
}

namespace {

using namespace abh;
using namespace abh::judge;

/// The result, and those counts of its kernels that `some` selects.
template <class Some>
Function counted(const Some& some) {
    return [=](const Values& given) {
        cuda::count_kernels(true);
        Values results = values(mine::product(as<Tensor>(given.at(0)), as<Tensor>(given.at(1))));
        cuda::KernelCount all;
        for (const cuda::KernelCount& c : cuda::kernel_counts()) {
            all.bytes += c.bytes;
            all.sectors += c.sectors;
            all.shared_requests += c.shared_requests;
            all.shared_turns += c.shared_turns;
        }
        cuda::count_kernels(false);
        for (const Value& v : some(all)) results.push_back(v);
        return results;
    };
}

Index more(Index count, Index than) {
    return std::max(Index{0}, count - than);
}

}  // namespace

int main() {
    using cuda::KernelCount;
    return serve({
        {"product", function(abh::mine::product)},
        {"device_memory", counted([](const KernelCount& c) {
             return values(c.bytes, more(c.sectors, c.bytes / 32));
         })},
        {"requests",
         counted([](const KernelCount& c) { return values(more(c.shared_requests, 35000)); })},
        {"turns",
         counted([](const KernelCount& c) { return values(more(c.shared_turns, 40000)); })},
    });
}
