#pragma once

// Every component of the book behind one face, so that one piece of code can hold all of them
// against finite differences and against PyTorch; and what the makers of such trials share.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/gradcheck.hpp"
#include "lib/parameter.hpp"
#include "lib/random.hpp"
#include "lib/way.hpp"

namespace abh::proof {

/// The sizes of one trial; a component takes those that it knows.
struct Sizes {
    Index batch = 2, length = 5, keys = 4, d_model = 6, n_heads = 3, d_ff = 7;
    Index src_words = 7, tgt_words = 9, n_layers = 2;
};

using Gradients = std::map<std::string, Tensor>;

/// A forward pass, as in training, and its backward pass.
struct Pass {
    Tensor y;
    /// Adds to the parameters' gradients; returns those of the inputs, under their names.
    std::function<Gradients(const Tensor& dy)> backward = {};
};

/// A component with its inputs. `forward` reads the tensors of `inputs`, `ids` and `parameters`
/// anew at each call, so whoever writes into them changes the trial.
struct Trial {
    std::map<std::string, Tensor> inputs = {};  ///< those that have a gradient
    std::map<std::string, Ids> ids = {};        ///< those that have none: ids, and masks of 0 and 1
    Parameters parameters = {};
    std::vector<Tensor> padded = {};  ///< tables among the parameters whose row 0 is a constant
    std::function<Pass()> forward = {};
};

/// Makes a trial of these sizes, with random inputs and weights.
using Maker = std::function<Trial(const Sizes&, Random&)>;

/// The worst element of all gradients of a trial.
struct Differences {
    Index checked = 0;  ///< elements of inputs and parameters
    std::string name;   ///< tensor of the worst element
    GradientError worst;
};

/// Every gradient of a trial against central differences. Meant for `Real = double`.
inline Differences differences(const Trial& trial, Random& random) {
    const auto [y, backward] = trial.forward();
    const Tensor cotangent = normal(y.shape(), random.stream());
    zero_grad(trial.parameters);
    const Gradients gradients = backward(cotangent);

    // too many forward passes for an emulated device; the gradients are its own
    const ScopedWay scoped(way() == Way::cuda ? Way::fast : way());
    std::vector<Tensor> constant;
    for (const Tensor& table : trial.padded) constant.push_back(table.clone());
    const auto forward = [&] {
        for (std::size_t i = 0; i < constant.size(); ++i)  // a padding row is no variable
            std::copy_n(constant[i].data(), constant[i].dim(1), Tensor(trial.padded[i]).data());
        return trial.forward().y;
    };
    Differences result;
    const auto check = [&](const std::string& name, const Tensor& x, const Tensor& dx) {
        const GradientError error = check_gradient(forward, x, dx, cotangent, 1e-5, true);
        result.checked += error.checked;
        if (result.name.empty() || !(error.relative <= result.worst.relative)) {
            result.name = name;
            result.worst = error;
        }
    };
    for (const auto& [name, x] : trial.inputs) check(name, x, gradients.at(name));
    for (const NamedParameter& p : trial.parameters)
        check(p.name, p.parameter->value, p.parameter->grad());
    return result;
}

inline Tensor random(const Shape& shape, Random& source) {
    return normal(shape, source.stream());
}

/// Inputs of a layer, [batch, length, d_model].
inline Tensor hidden_states(const Sizes& s, Random& source) {
    return random({s.batch, s.length, s.d_model}, source);
}

/// Weights other than the usual start, so that no bias is 0 and no gain 1.
template <class Layer>
std::shared_ptr<Layer> shaken(std::shared_ptr<Layer> layer, Random& source) {
    for (const NamedParameter& p : parameters_of(*layer)) {
        Tensor& value = p.parameter->value;
        value += uniform(value.shape(), Real(-0.5), Real(0.5), source.stream());
    }
    return layer;
}

/// Ids from 0, which is the pad, up; the first of each sentence is a word.
inline Ids random_words(Index batch, Index length, Index words, Random& source) {
    Ids ids = random_ids({batch, length}, 0, static_cast<std::int32_t>(words), source.stream());
    for (Index b = 0; b < batch; ++b) ids(b, 0) = 1;
    return ids;
}

/// A mask whose 1 hides. @param keep  what a 1 of `ids` says, as in the shared-head block
inline Mask as_mask(const Ids& ids, bool keep) {
    Mask mask(ids.shape());
    std::transform(ids.values().begin(), ids.values().end(), mask.data(),
                   [=](std::int32_t id) { return static_cast<std::uint8_t>((id != 0) != keep); });
    return mask;
}

/// Random masks in which each query sees the first key.
inline Ids random_mask(const Shape& shape, bool keep, Random& source) {
    Ids mask = random_ids(shape, 0, 2, source.stream());
    for (Index r = 0; r < mask.size() / mask.dim(-1); ++r) mask.data()[r * mask.dim(-1)] = keep;
    return mask;
}

/// A forward pass with a new cache, and the backward pass from it.
/// @param forward   `Tensor(Cache*)`
/// @param backward  `Gradients(const Tensor& dy, const Cache&)`
template <class Cache, class Forward, class Backward>
std::function<Pass()> with_cache(const Forward& forward, const Backward& backward) {
    return [=] {
        const auto cache = std::make_shared<Cache>();
        return Pass{forward(cache.get()), [=](const Tensor& dy) { return backward(dy, *cache); }};
    };
}

/// A layer `y = forward(x)`, or `forward(x, cache, more...)`.
template <class Layer, class... More>
Trial trial_of(std::shared_ptr<Layer> layer, const Tensor& x, const More&... more) {
    Trial trial{.inputs = {{"x", x}}};
    if constexpr (requires(Parameters list) { layer->collect(list, ""); })
        trial.parameters = parameters_of(*layer);
    trial.forward = with_cache<typename Layer::Cache>(
        [=](auto* cache) { return layer->forward(x, cache, more...); },
        [=](const Tensor& dy, const auto& cache) {
            return Gradients{{"x", layer->backward(dy, cache)}};
        });
    return trial;
}

}  // namespace abh::proof
