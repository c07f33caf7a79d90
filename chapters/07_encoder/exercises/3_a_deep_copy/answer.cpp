// Exercise 07.3: a copy in depth.
#include <functional>

#include "chapters/07_encoder/encoder.hpp"

namespace abh::mine {

using Copy = std::function<Encoder(Encoder& original, const LayerOptions& options)>;

/// An encoder with the same values and no element in common with the original.
/// @param options  the original's
Encoder copy_of(Encoder& original, const LayerOptions& options) {
    Random random(0);
    Encoder copy(options, static_cast<Index>(original.layers.size()), random);
    const Parameters from = parameters_of(original), to = parameters_of(copy);
    for (std::size_t i = 0; i < from.size(); ++i) {
        // solution
        to[i].parameter->value = from[i].parameter->value.clone();
        // stub
        // *to[i].parameter = *from[i].parameter;
        // end
    }
    return copy;
}

// solution
namespace {

void backward_of(Encoder& encoder, const Tensor& x) {
    Encoder::Cache cache;
    encoder.forward(x, {}, &cache);
    encoder.backward(normal(x.shape(), Random(8).stream()), cache);
}

/// Copies of all gradients.
std::vector<Tensor> gradients_of(Encoder& encoder) {
    std::vector<Tensor> list;
    for (const NamedParameter& p : parameters_of(encoder))
        list.push_back(p.parameter->grad().clone());
    return list;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(max_difference(a[i], b[i]) == 0)) return false;
    return true;
}

}  // namespace
// stub
// end

/// Whether `copy` does what `copy_of` promises.
bool accepts(const Copy& copy) {
    // solution
    LayerOptions options;
    options.attention.d_model = 6;
    options.attention.n_heads = 2;
    options.d_ff = 5;
    options.add_norm.placement = NormPlacement::pre;
    Random random(7);
    Encoder original(options, 3, random);
    const Tensor x = normal({1, 4, 6}, random.stream()), y = original.forward(x, {});
    backward_of(original, x);
    const std::vector<Tensor> before = gradients_of(original);

    Encoder made = copy(original, options);
    if (max_difference(made.forward(x, {}), y) != 0) return false;
    backward_of(made, x);
    if (!same(gradients_of(original), before) || !same(gradients_of(made), before)) return false;
    for (const NamedParameter& p : parameters_of(made)) p.parameter->value.fill(42);
    if (max_difference(original.forward(x, {}), y) != 0) return false;
    return true;
    // stub
    // return true;
    // end
}

}  // namespace abh::mine
