// Per way: backward runs under the way of its forward pass, whatever is set by then.
#include <functional>

#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/09_training/vocabulary_loss.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

/// Forward under the way that is set; the backward pass that is returned gives all gradients.
using Passes = std::function<std::function<std::vector<Tensor>()>()>;

void require_following(const Passes& forward) {
    for (const Way kept : ways_here()) {
        const auto run = [&](Way set) {
            const std::function<std::vector<Tensor>()> backward = [&] {
                const ScopedWay scoped(kept);
                return forward();
            }();
            const ScopedWay scoped(set);
            return backward();
        };
        const std::vector<Tensor> expected = run(kept);
        for (const Way set : ways_here()) {
            INFO("forward " << to_string(kept) << ", then " << to_string(set) << " is set");
            const std::vector<Tensor> found = run(set);
            for (std::size_t i = 0; i < found.size(); ++i) CHECK(same_bits(found[i], expected[i]));
        }
    }
}

const Shape shape{3, 67, 33};  // more rows than a fast way adds up at once

}  // namespace

TEST_CASE("the backward pass of a layer norm follows its forward pass") {
    require_following([] {
        const auto norm = std::make_shared<LayerNorm>(shape[-1]);
        LayerNorm::Cache cache;
        norm->forward(random_tensor(shape, 1), &cache);
        return [=] {
            const Tensor dx = norm->backward(random_tensor(shape, 2), cache);
            return std::vector{dx, norm->gamma.grad(), norm->beta.grad()};
        };
    });
}

TEST_CASE("the backward pass of add and norm follows its forward pass") {
    require_following([] {
        Random random(1);
        const auto layer =
            std::make_shared<AddNorm>(shape[-1], AddNormOptions{.dropout = Real(0.2)}, random);
        AddNorm::Cache cache;
        layer->after(random_tensor(shape, 1), random_tensor(shape, 2), &cache);
        return [=] {
            const AddNormGradients d = layer->after_backward(random_tensor(shape, 3), cache);
            return std::vector{d.dx, d.dsublayer, layer->norm.gamma.grad(),
                               layer->norm.beta.grad()};
        };
    });
}

TEST_CASE("the backward pass of a loss follows its forward pass") {
    Random random(1);
    const Ids targets = random_ids({3, 67}, 0, 33, random.stream());
    require_following([&] {
        CrossEntropyCache cache;
        cross_entropy(random_tensor(shape, 1), targets, {.smoothing = Real(0.1)}, &cache);
        return [=] { return std::vector{cross_entropy_backward(cache)}; };
    });
    require_following([&] {
        Random weights(2);
        const auto output = std::make_shared<Linear>(shape[-1], 41, true, weights);
        VocabularyLossCache cache;
        vocabulary_loss(random_tensor(shape, 1), *output, targets, {}, &cache);
        return [=] {
            const Tensor dx = vocabulary_loss_backward(*output, cache);
            return std::vector{dx, output->weight.grad(), output->bias.grad()};
        };
    });
}
