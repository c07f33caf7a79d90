// Per way: what is about the device alone.
#include <vector>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("attention of all heads gives the same bits again on the device, in any order of threads",
          "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor q = random_tensor({2, 70, 66}, 1), k = random_tensor({2, 70, 66}, 2),
                 v = random_tensor({2, 70, 66}, 3), dy = random_tensor({2, 70, 66}, 4);
    const AttentionMask mask = hide_future();
    const auto run = [&] {
        AttendHeadsCache cache;
        const Tensor y = attend_heads(q, k, v, 2, mask, {}, &cache);
        const AttentionGradients d = attend_heads_backward(dy, cache);
        return std::vector<Tensor>{y, d.dq, d.dk, d.dv};
    };
    check_same_bits(run(), run());
}

TEST_CASE("a warm step of multi-head attention on the device sends nothing", "[cuda]") {
    Random random(6);
    MultiHeadAttention layer({.d_model = 12, .n_heads = 2}, random);
    const Tensor x = random_tensor({2, 5, 12});
    const Mask hidden = Mask::zeros({2, 5, 5});
    for (bool with_weights : {false, true})
        require_stays([&] {
            MultiHeadAttention::Cache cache;
            Tensor weights;
            const Tensor y =
                layer.forward(x, x, x, hidden, &cache, with_weights ? &weights : nullptr);
            layer.backward(y, cache);
        });
}
