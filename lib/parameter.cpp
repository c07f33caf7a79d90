#include "lib/parameter.hpp"

#include <algorithm>
#include <cmath>

#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(grad_norm) grad_norm;
decltype(scale_grad) scale_grad;
}  // namespace plain
namespace cuda {
decltype(grad_norm) grad_norm;
decltype(scale_grad) scale_grad;
}  // namespace cuda
// [assign]
void Parameter::assign(const Tensor& numbers) {
    require_shape(numbers.shape(), value.shape(), "parameter", "numbers");
    std::ranges::copy(numbers.values(), value.values().begin());
}

Parameter Parameter::shared() {
    gradient.add_layer();
    return *this;
}
// [list]
std::string join_name(const std::string& prefix, const std::string& name) {
    return prefix.empty() ? name : prefix + "." + name;
}

Index count_elements(const Parameters& parameters) {
    Index count = 0;
    for (const NamedParameter& p : parameters) count += p.parameter->value.size();
    return count;
}

void zero_grad(const Parameters& parameters) {
    for (const NamedParameter& p : parameters) p.parameter->zero_grad();
}

// [all gradients]
double grad_norm(const Parameters& parameters) {
    return Ways{"norm of gradients", plain::grad_norm, plain::grad_norm,
                cuda::grad_norm}(parameters);
}

double plain::grad_norm(const Parameters& parameters) {
    double sum = 0;
    for (const NamedParameter& p : parameters) sum += dot(p.parameter->grad(), p.parameter->grad());
    return std::sqrt(sum);
}

void scale_grad(const Parameters& parameters, Real factor) {
    Ways{"scale gradients", plain::scale_grad, plain::scale_grad, cuda::scale_grad}(parameters,
                                                                                    factor);
}

void plain::scale_grad(const Parameters& parameters, Real factor) {
    for (const NamedParameter& p : parameters) p.parameter->grad() *= factor;
}

}  // namespace abh
