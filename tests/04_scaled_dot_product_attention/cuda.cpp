// Per way: what is about the device alone.
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("attention on the device sends nothing back and forth", "[cuda]") {
    const Tensor q = random_tensor({2, 2, 5, 4}, 1), k = random_tensor({2, 2, 7, 4}, 2);
    const Mask mask = Mask::zeros({2, 1, 5, 7});
    require_stays([&] {
        AttentionCache cache;
        return attention_backward(attention(q, k, k, mask, {}, &cache), cache);
    });
}
