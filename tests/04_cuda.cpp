// Per way: what is about the device alone.
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("attention on the device sends nothing back and forth", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor q = random_tensor({2, 2, 5, 4}, 1), k = random_tensor({2, 2, 7, 4}, 2);
    const Mask mask = Mask::zeros({2, 1, 5, 7});
    const auto step = [&] {
        AttentionCache cache;
        return attention_backward(attention(q, k, k, mask, {}, &cache), cache);
    };
    step();
    const Transfers before = transfers();
    step();
    CHECK(transfers().to_device == before.to_device);
    CHECK(transfers().to_host == before.to_host);
}
