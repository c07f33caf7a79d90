// Per way: a sublayer on the device: what it moves between the memories.
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("a warm sublayer with its residual connection moves nothing between the memories",
          "[cuda]") {
    for (NormPlacement placement : {NormPlacement::post, NormPlacement::pre})
        for (double p_after : {0.0, 0.2}) {
            Random random(7);
            FeedForward ff(33, 65, true, random,
                           p_after > 0 ? Activation::swish : Activation::relu);
            AddNorm add_norm(33,
                             {.placement = placement,
                              .dropout = Real(0.1),
                              .dropout_after_norm = static_cast<Real>(p_after)},
                             random);
            const Tensor x = random_tensor({3, 11, 33}, 1), dy = random_tensor({3, 11, 33}, 2);
            require_stays([&] {
                FeedForward::Cache ff_cache;
                AddNorm::Cache cache;
                const Tensor h = add_norm.before(x, &cache);
                const Tensor y = add_norm.after(x, ff.forward(h, &ff_cache), &cache);
                const auto [dx, ds] = add_norm.after_backward(dy, cache);
                const Tensor sum = dx + add_norm.before_backward(ff.backward(ds, ff_cache), cache);
                add_norm.after(x, y);
                random.next_step();
            });
        }
}

TEST_CASE("on the device tensors need not consist of fours, nor begin with one", "[cuda]") {
    for (Index n : {1, 3, 4, 1031})
        for (Index first : {0, 1}) {
            const auto [expected, actual] = on_both([&, n = n, first = first] {
                const auto view = [&](std::uint64_t seed) {
                    return random_tensor({first + n}, seed).rows(first, first + n);
                };
                const Tensor x = view(1), dy = view(2);
                std::vector<Tensor> all{relu(x), relu_backward(dy, x), swish(x),
                                        swish_backward(dy, x), x + dy};
                Tensor whole = random_tensor({first + n}, 3), rest = whole.rows(first, first + n);
                rest.fill(2);
                all.push_back(whole);
                rest *= Real(1.5);
                all.push_back(whole);
                return all;
            });
            for (std::size_t i = 0; i < expected.size(); ++i)
                REQUIRE(near(expected[i], actual[i], 4));
        }
}
