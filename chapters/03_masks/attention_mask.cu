#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
Mask pads_among(const Ids& keys, std::int32_t pad);
// [pads]
namespace {

__global__ void pads_kernel(Elements all, Global<std::uint8_t> pads,
                            Global<const std::int32_t> keys, std::int32_t pad) {
    for_elements(all, [&]<int n>(Index i) {
        const Some<std::int32_t, n> id = some<n>(keys)[i];
        Some<std::uint8_t, n> is_pad;
        for (int e = 0; e < n; ++e) is_pad.v[e] = id.v[e] == pad;
        some<n>(pads)[i] = is_pad;
    });
}

}  // namespace

Mask pads_among(const Ids& keys, std::int32_t pad) {
    Mask pads(keys.shape());
    launch_elements("pads", pads_kernel, keys.size(), true, pads.on_device(), keys.on_device(),
                    pad);
    return pads;
}

}  // namespace abh::cuda
