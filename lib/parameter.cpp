#include "lib/parameter.hpp"

#include <algorithm>
#include <cmath>

namespace abh {
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

double grad_norm(const Parameters& parameters) {
    double sum = 0;
    for (const NamedParameter& p : parameters) sum += dot(p.parameter->grad(), p.parameter->grad());
    return std::sqrt(sum);
}

}  // namespace abh
