#include <functional>

#include "judge/answer/serve.hpp"
#include "model.hpp"

namespace abh::mine {
using Copy = std::function<Encoder(Encoder& original, const LayerOptions& options)>;
Encoder copy_of(Encoder& original, const LayerOptions& options);
bool accepts(const Copy& copy);
}  // namespace abh::mine

using namespace abh;
using namespace abh::judge;

namespace {

/// The results of both, and the original's result after 42 fills one parameter of the copy.
std::vector<Tensor> copied(const Tensor& x, Index n_layers, bool pre, Index weight, Index seed) {
    const LayerOptions options = options_of(x.dim(2), pre);
    Encoder original = encoder_of(options, n_layers, seed);
    Encoder copy = mine::copy_of(original, options);
    const Tensor before = original.forward(x, {}), of_copy = copy.forward(x, {});
    const Parameters list = parameters_of(copy);
    list[static_cast<std::size_t>(weight) % list.size()].parameter->value.fill(42);
    return {before, of_copy, original.forward(x, {})};
}

void backward_of(Encoder& encoder, const Tensor& x, const Tensor& dy) {
    Encoder::Cache cache;
    encoder.forward(x, {}, &cache);
    encoder.backward(dy, cache);
}

/// One gradient of the original, which has it before the copy is made, and the copy's.
std::vector<Tensor> gradients(const Tensor& x, const Tensor& dy, const Tensor& dy_of_copy,
                              Index n_layers, bool pre, Index weight, Index seed) {
    const LayerOptions options = options_of(x.dim(2), pre);
    Encoder original = encoder_of(options, n_layers, seed);
    backward_of(original, x, dy);
    Encoder copy = mine::copy_of(original, options);
    backward_of(copy, x, dy_of_copy);
    const Parameters a = parameters_of(original), b = parameters_of(copy);
    const std::size_t i = static_cast<std::size_t>(weight) % a.size();
    return {a[i].parameter->grad(), b[i].parameter->grad()};
}

/// A copy that is wrong in one way, or the right one.
Encoder other_copy(const std::string& what, Encoder& original, const LayerOptions& options) {
    if (what == "the same handles") return original;
    Random random(0);
    Encoder copy(options, static_cast<Index>(original.layers.size()), random);
    const Parameters from = parameters_of(original), to = parameters_of(copy);
    for (std::size_t i = 0; i < from.size(); ++i) {
        Parameter &a = *from[i].parameter, &b = *to[i].parameter;
        const bool first = from[i].name.starts_with("layers.0");
        if (what == "right") b.value = a.value.clone();
        if (what == "parameters assigned") b = a;
        if (what == "values shared") b.value = a.value;
        if (what == "the first layer alone copied") b.value = first ? a.value.clone() : a.value;
        if (what == "gradients shared") {
            b = a;
            b.value = a.value.clone();
        }
        if (what == "gradients copied") {
            b.value = a.value.clone();
            b.grad() += a.grad();
        }
    }
    return copy;  // for "fresh weights", as constructed
}

bool accepts(const std::string& what) {
    const mine::Copy copy = [&](Encoder& original, const LayerOptions& options) {
        return what == "own" ? mine::copy_of(original, options)
                             : other_copy(what, original, options);
    };
    return mine::accepts(copy);
}

}  // namespace

int main() {
    return judge::serve({{"copied", judge::function(copied)},
                         {"gradients", judge::function(gradients)},
                         {"accepts", judge::function(accepts)}});
}
