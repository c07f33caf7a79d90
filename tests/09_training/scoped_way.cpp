// Per way: backward runs under the way of its forward pass, whatever is set by then.
#include <memory>

#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/09_training/loss/vocabulary_loss.hpp"
#include "tests/gradients.hpp"

using namespace abh;

namespace {

const Shape shape{3, 67, 33};  // more rows than a fast way adds up at once

}  // namespace

TEST_CASE("the backward pass of a layer norm follows its forward pass") {
    check_follows([] {
        const auto norm = std::make_shared<LayerNorm>(shape[-1]);
        LayerNorm::Cache cache;
        norm->forward(random_tensor(shape, 1), &cache);
        return [=] {
            const Tensor dx = norm->backward(random_tensor(shape, 2), cache);
            return with_gradients({dx}, *norm);
        };
    });
}

TEST_CASE("the backward pass of add and norm follows its forward pass") {
    check_follows([] {
        Random random(1);
        const auto layer =
            std::make_shared<AddNorm>(shape[-1], AddNormOptions{.dropout = Real(0.2)}, random);
        AddNorm::Cache cache;
        layer->after(random_tensor(shape, 1), random_tensor(shape, 2), &cache);
        return [=] {
            const AddNormGradients d = layer->after_backward(random_tensor(shape, 3), cache);
            return with_gradients({d.dx, d.dsublayer}, *layer);
        };
    });
}

TEST_CASE("the backward pass of a loss follows its forward pass") {
    Random random(1);
    const Ids targets = random_ids({3, 67}, 0, 33, random.stream());
    check_follows([&] {
        CrossEntropyCache cache;
        cross_entropy(random_tensor(shape, 1), targets, {.smoothing = Real(0.1)}, &cache);
        return [=] { return std::vector{cross_entropy_backward(cache)}; };
    });
    check_follows([&] {
        Random weights(2);
        const auto output = std::make_shared<Linear>(shape[-1], 41, true, weights);
        VocabularyLossCache cache;
        vocabulary_loss(random_tensor(shape, 1), *output, targets, {}, &cache);
        return [=] {
            const Tensor dx = vocabulary_loss_backward(*output, cache);
            return with_gradients({dx}, *output);
        };
    });
}
