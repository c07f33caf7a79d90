#include "lib/parameter.hpp"

#include <algorithm>
#include <cmath>

#include "lib/matmul.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [parameter]
Tensor& Parameter::grad() {
    for (const Factors& p : pending_) {
        if (is_zero_)
            grad_ = matmul(p.dy, p.x, {.transpose_a = true});  // [d_out, d_in]
        else
            add_matmul(grad_, p.dy, p.x, {.transpose_a = true});
        is_zero_ = false;
    }
    pending_.clear();
    if (is_zero_) grad_ = Tensor::zeros(value.shape());
    is_zero_ = false;
    return grad_;
}

void Parameter::zero_grad() {
    is_zero_ = true;
    pending_.clear();
}
// [parameter: products]
void Parameter::add_product(const Tensor& dy, const Tensor& x) {
    require(dy.rank() == 2 && x.rank() == 2 && dy.dim(0) == x.dim(0) &&
                value.shape() == Shape{dy.dim(1), x.dim(1)},
            "parameter: {}^T {} does not fit a value of shape {}", dy.shape(), x.shape(),
            value.shape());
    pending_.push_back({dy, x});
    if (on_cuda() || !worth_keeping(dy.dim(0), dy.dim(1), x.dim(1))) grad();
}

void Parameter::update(const Update& update) {
    if (is_zero_ && !pending_.empty()) return update_by_products(pending_, update);
    constexpr Index size = 1 << 15;  // a part, and what is done with it, fits into a core's cache
    const Tensor& g = grad();
    parallel_ranges(g.size(), size, [&](Index begin, Index end) {
        update.step(begin, g.values().subspan(static_cast<std::size_t>(begin),
                                              static_cast<std::size_t>(end - begin)));
    });
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
    const Timed timed("zero grad");
    for (const NamedParameter& p : parameters) p.parameter->zero_grad();
}

double grad_norm(const Parameters& parameters) {
    double sum = 0;
    for (const NamedParameter& p : parameters) sum += dot(p.parameter->grad(), p.parameter->grad());
    return std::sqrt(sum);
}

}  // namespace abh
