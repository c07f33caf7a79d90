#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "judge/answer/serve.hpp"
#include "lib/matmul.hpp"
#include "lib/random.hpp"

namespace abh::mine {
bool passes(const std::function<Tensor(const Tensor& x)>& forward,
            const std::function<Tensor(const Tensor& dy, const Tensor& x)>& backward,
            const Tensor& at, Random& random);
}

namespace {

using namespace abh;
using Forward = std::function<Tensor(const Tensor&)>;
using Backward = std::function<Tensor(const Tensor&, const Tensor&)>;

Tensor each(const Tensor& x, const std::function<Real(Real)>& f) {
    Tensor y(x.shape());
    std::transform(x.values().begin(), x.values().end(), y.values().begin(), f);
    return y;
}

/// Each element minus the mean of its row.
Tensor center(const Tensor& x) {
    Tensor y = x.clone();
    for (Index r = 0; r < x.dim(0); ++r) {
        Real mean = 0;
        for (Index j = 0; j < x.dim(1); ++j) mean += x(r, j) / static_cast<Real>(x.dim(1));
        for (Index j = 0; j < x.dim(1); ++j) y(r, j) -= mean;
    }
    return y;
}

/// A backward pass with one wrong element, to which `f(largest element)` is added.
Backward spoilt(const Backward& backward, Index at, const std::function<Real(Real)>& f) {
    return [=](const Tensor& dy, const Tensor& x) {
        Tensor dx = backward(dy, x).clone();
        Real largest = 0;
        for (const Real element : dx.values()) largest = std::max(largest, std::abs(element));
        dx.data()[at % dx.size()] += f(largest);
        return dx;
    };
}

/// The result of the reader's check for one pair of forward and backward, whose types reveal
/// nothing; `drawn` is a factor, [n, x.dim(1)].
bool passes(const std::string& which, const Tensor& x, const Tensor& drawn, Index at, Index seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const Forward product = [&](const Tensor& weight) {
        return matmul(drawn, weight, {.transpose_b = true});
    };
    const Backward of_product = [&](const Tensor& dy, const Tensor&) {
        return matmul(dy, drawn, {.transpose_a = true});
    };
    const Forward exponential = [](const Tensor& a) {
        return each(a, [](Real v) { return std::exp(v); });
    };
    const auto of_exponential = [](Real factor) {
        return [factor](const Tensor& dy, const Tensor& a) {
            Tensor dx(a.shape());
            for (Index i = 0; i < a.size(); ++i)
                dx.data()[i] = factor * dy.data()[i] * std::exp(a.data()[i]);
            return dx;
        };
    };
    const auto of_center = [](Real factor) {
        return [factor](const Tensor& dy, const Tensor&) {
            return each(center(dy), [factor](Real v) { return factor * v; });
        };
    };
    const std::map<std::string, std::pair<Forward, Backward>> functions{
        {"product", {product, of_product}},
        {"reshape",
         {product,
          [&](const Tensor& dy, const Tensor&) {
              return matmul(dy.reshape({dy.dim(1), dy.dim(0)}), drawn);
          }}},
        {"center", {center, of_center(1)}},
        {"twice center", {center, of_center(2)}},
        {"one element",
         {product, spoilt(of_product, at, [](Real largest) { return Real(1e-4) * largest; })}},
        {"not a number",
         {product,
          spoilt(of_product, at, [](Real) { return std::numeric_limits<Real>::quiet_NaN(); })}},
        {"exponential", {exponential, of_exponential(1)}},
        {"nearly exponential", {exponential, of_exponential(Real(1.0001))}}};
    if (!functions.contains(which)) throw std::invalid_argument("passes: no such function");
    const auto& pair = functions.at(which);
    return mine::passes([&](const Tensor& a) { return pair.first(a); },
                        [&](const Tensor& dy, const Tensor& a) { return pair.second(dy, a); }, x,
                        random);
}

}  // namespace

int main() {
    return abh::judge::serve({{"passes", abh::judge::function(passes)}});
}
