// Masks built on the device, against the processor's.
#include "chapters/03_masks/masks.hpp"
#include "chapters/03_masks/packing.hpp"
#include "tests/devices.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

Ids some_ids(const Shape& shape, std::uint64_t seed) {
    Random random(seed);
    return random_ids(shape, 0, 4, random.stream());
}

}  // namespace

TEST_CASE("on the device masks are the processor's", "[cuda]") {
    for (Index batch : {0, 1, 3})
        for (Index queries : {0, 1, 31, 33})
            for (Index keys : {0, 1, 31, 33, 65})
                for (std::int32_t pad : {0, 2}) {
                    CAPTURE(batch, queries, keys, pad);
                    const auto [a, b] = on_both([&] {
                        const Ids tgt = some_ids({batch, queries}, 1),
                                  src = some_ids({batch, keys}, 2);
                        const Mask cross = padding_mask(tgt, src, pad),
                                   pads = padding_mask(tgt, tgt);
                        const Mask future = look_ahead_mask(tgt), all = either(pads, future);
                        return std::vector{cross, pads, future, all, invert(all), over_heads(all)};
                    });
                    for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(same_bits(a[i], b[i]));
                }
}

TEST_CASE("on the device whatever is not 0 hides, and becomes 1", "[cuda]") {
    const OnDevice device;
    const Mask a({1, 1, 4}, {0, 7, 0, 255}), b({1, 1, 4}, {0, 0, 9, 1});
    REQUIRE(same_bits(either(a, b), Mask({1, 1, 4}, {0, 1, 1, 1})));
    REQUIRE(same_bits(invert(a), Mask({1, 1, 4}, {1, 0, 1, 0})));
}

TEST_CASE("masks are built where ids are: only those go to the device", "[cuda]") {
    const OnDevice device;
    const Ids src = some_ids({3, 20}, 1), tgt = some_ids({3, 30}, 2);
    src.data();
    tgt.data();
    const Transfers before = transfers();
    const Mask encoder = padding_mask(src, src), cross = padding_mask(tgt, src);
    const Mask decoder = over_heads(either(padding_mask(tgt, tgt), look_ahead_mask(tgt)));
    const Mask kept = invert(decoder);
    REQUIRE(kept.on_device() != nullptr);
    const Transfers after = transfers();
    REQUIRE(after.to_host == before.to_host);
    REQUIRE(after.to_device == before.to_device + 2);
    REQUIRE(after.bytes_to_device == before.bytes_to_device + 4 * 3 * (20 + 30));
}

TEST_CASE("on the device rows are packed and unpacked as on the processor", "[cuda]") {
    for (Index batch : {1, 3})
        for (Index length : {1, 2, 40})
            for (Index n : {1, 33, 300}) {
                CAPTURE(batch, length, n);
                const auto [a, b] = on_both([&] {
                    const Packing p = leave_out_pads(some_ids({batch, length}, 1));
                    const Tensor packed = pack(random_tensor({batch, length, n}), p);
                    return std::vector{packed, unpack(packed, p)};
                });
                for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(same_bits(a[i], b[i]));
            }
}
