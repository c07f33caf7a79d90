#include "lib/parameter.hpp"

#include <algorithm>
#include <cmath>

#include "lib/way.hpp"

namespace abh {
namespace cuda {
decltype(grad_norm) grad_norm;
decltype(scale_grad) scale_grad;
}  // namespace cuda
// [assign]
void Parameter::assign(const Tensor& numbers) {
    require_shape(numbers.shape(), value.shape(), "parameter", "numbers");
    std::ranges::copy(numbers.values(), value.values().begin());
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

double grad_norm(const Parameters& parameters) {
    if (way() == Way::cuda) return Ways{"norm of gradients", cuda::grad_norm}(parameters);
    double sum = 0;
    for (const NamedParameter& p : parameters) sum += dot(p.parameter->grad(), p.parameter->grad());
    return std::sqrt(sum);
}

void scale_grad(const Parameters& parameters, Real factor) {
    if (way() == Way::cuda) return Ways{"scale gradients", cuda::scale_grad}(parameters, factor);
    for (const NamedParameter& p : parameters) p.parameter->grad() *= factor;
}

}  // namespace abh
