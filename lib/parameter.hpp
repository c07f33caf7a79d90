#pragma once

#include <string>
#include <vector>

#include "lib/gradient.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [parameter]
/// A trained tensor and the gradient of the loss with respect to it. A copy is a handle: it shares
/// both with the original.
struct Parameter {
    Tensor value;
    Gradient gradient;

    Parameter() = default;
    explicit Parameter(Tensor initial) : value(std::move(initial)), gradient(value.shape()) {}

    /// The gradient, shape of `value`; zeros when first asked for. `backward` functions add to it.
    Tensor& grad() { return gradient.tensor(); }
    /// Sets the gradient to zero. No memory is touched: the next addition overwrites.
    void zero_grad() { gradient.zero(); }
    /// A handle for another layer that has this parameter, too.
    Parameter shared();
    /// Says at the end of a layer's `backward` that it has added its share to the gradient.
    void added() { gradient.added(); }
    /// Copies these numbers into the elements of `value`, and so into those of all copies.
    /// @throws std::invalid_argument if the shape is another
    void assign(const Tensor& numbers);
};
// [list]
/// A parameter under the name that it has in the whole model.
struct NamedParameter {
    std::string name;  ///< in the style of PyTorch's `state_dict`: `encoder.layers.0.norm1.weight`
    Parameter* parameter;
};

/// All parameters of a layer or model. Each layer has
/// `void collect(Parameters& list, const std::string& name)`, which appends its own.
using Parameters = std::vector<NamedParameter>;

/// All parameters of `layer`, their names beginning with `name`.
template <class Layer>
Parameters parameters_of(Layer& layer, const std::string& name = "") {
    Parameters list;
    layer.collect(list, name);
    return list;
}

/// `prefix.name`, or `name` alone where the prefix is empty.
std::string join_name(const std::string& prefix, const std::string& name);
/// Sum of the sizes.
Index count_elements(const Parameters& parameters);
void zero_grad(const Parameters& parameters);
/// Square root of the sum of squares of all gradients.
double grad_norm(const Parameters& parameters);

}  // namespace abh
