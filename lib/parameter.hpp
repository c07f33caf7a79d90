#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/gradient.hpp"
#include "lib/stored_weight.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [parameter]
/// A trained tensor and the gradient of the loss with respect to it. A copy is a handle: it shares
/// both with the original.
struct Parameter {
    Tensor value;
    Gradient gradient;
    std::shared_ptr<const StoredWeight> stored;  ///< if given, in place of `value`

    Parameter() = default;
    explicit Parameter(Tensor initial) : value(std::move(initial)), gradient(value.shape()) {}

    /// The gradient, of the shape of `value`, which `backward` adds to; zeros if nothing was added.
    Tensor& grad() { return gradient.tensor(); }
    /// Sets the gradient to zero without touching memory: the next addition overwrites it.
    void zero_grad() { gradient.zero(); }
    /// Copies `numbers` into the elements of `value`, and so into those of all copies.
    /// @throws std::invalid_argument if the shapes differ
    void assign(const Tensor& numbers);
};
// [list]
/// A parameter and its name in the whole model.
struct NamedParameter {
    std::string name;  ///< in the style of PyTorch's `state_dict`: `encoder.layers.0.norm1.weight`
    Parameter* parameter;
};

/// All parameters of a layer or model. Each layer has
/// `void collect(Parameters& list, const std::string& name)`, which appends its own.
using Parameters = std::vector<NamedParameter>;

/// All parameters of `layer`, under names that begin with `name`.
template <class Layer>
Parameters parameters_of(Layer& layer, const std::string& name = "") {
    Parameters list;
    layer.collect(list, name);
    return list;
}

/// `prefix.name`, or `name` alone if the prefix is empty.
std::string join_name(const std::string& prefix, const std::string& name);
/// The total number of elements.
Index count_elements(const Parameters& parameters);
void zero_grad(const Parameters& parameters);
/// Square root of the sum of squares of all gradients.
double grad_norm(const Parameters& parameters);
/// Multiplies all gradients by `factor`.
void scale_grad(const Parameters& parameters, Real factor);

}  // namespace abh
