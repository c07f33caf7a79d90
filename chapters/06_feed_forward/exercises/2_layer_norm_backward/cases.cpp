#include "judge/answer/cases.hpp"

#include "chapters/06_feed_forward/layer_norm.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// Which terms dx has.
struct Terms {
    Real directly = 1, mean = 1, variance = 1;
    bool gain = true, sigma = true, projected = false;
};

/// dx with these terms.
Values dx_with(const Terms& terms, const Tensor& dy_, const LayerNorm& norm,
               const LayerNorm::Cache& cache) {
    const Shape matrix{rows(dy_.shape()), dy_.dim(-1)};
    const Tensor dy = dy_.reshape(matrix), x_hat = cache.normalized.reshape(matrix);
    Tensor dx(matrix);
    for (Index r = 0; r < dy.dim(0); ++r) {
        const auto dx_hat = [&](Index i) {
            return (terms.gain ? norm.gamma.value(i) : 1) * dy(r, i);
        };
        Real sum = 0, along = 0, square = 0;
        for (Index i = 0; i < dy.dim(1); ++i) {
            sum += dx_hat(i);
            along += dx_hat(i) * x_hat(r, i);
            square += x_hat(r, i) * x_hat(r, i);
        }
        const Real n = static_cast<Real>(dy.dim(1));
        for (Index i = 0; i < dy.dim(1); ++i)
            dx(r, i) = (terms.directly * dx_hat(i) - terms.mean * sum / n -
                        terms.variance * x_hat(r, i) * along / (terms.projected ? square : n)) *
                       (terms.sigma ? cache.inverse_stddev(r) : 1);
    }
    return values(dx.reshape(dy_.shape()));
}

void add(Cases& cases, const char* criterion, const Tensor& x, const Tensor& dy, LayerNorm norm) {
    LayerNorm::Cache cache;
    layer_norm(x, norm, &cache);
    const Tensor before = cases.normal({norm.d_model()}),
                 before_beta = cases.normal({norm.d_model()});
    norm.gamma.grad() += before;
    norm.beta.grad() += before_beta;
    const Tensor dx = layer_norm_backward(dy, norm, cache);
    const auto forward = [&] { return layer_norm(x, norm, nullptr); };
    require_close(dx, differences(forward, x, dy), "dx", 1e-5);
    require_close(norm.gamma.grad(), before + differences(forward, norm.gamma.value, dy), "dgamma");
    require_close(norm.beta.grad(), before_beta + differences(forward, norm.beta.value, dy),
                  "dbeta");

    const std::string about =
        fmt::format("x {}, epsilon {:.1g}", x.shape(), static_cast<double>(norm.options().eps));
    const Tensor& x_hat = cache.normalized;
    if (criterion == std::string("gradients of gain and shift")) {
        cases.add({.criterion = criterion,
                   .call = "dgamma_dbeta",
                   .arguments = values(dy, x_hat, cache.inverse_stddev, norm.gamma.value, before,
                                       before_beta),
                   .results = values(norm.gamma.grad(), norm.beta.grad()),
                   .about = about,
                   .names = {"dy", "x_hat", "1 / sigma", "gamma", "what dgamma held before",
                             "what dbeta held before", "dgamma", "dbeta"}});
        return;
    }
    const Real n = static_cast<Real>(norm.d_model());
    const auto mistake = [&](const Terms& terms) { return dx_with(terms, dy, norm, cache); };
    cases.add(
        {.criterion = criterion,
         .call = "dx",
         .arguments = values(dy, x_hat, cache.inverse_stddev, norm.gamma.value),
         .results = values(dx),
         .about = about,
         .names = {"dy", "x_hat", "1 / sigma", "gamma", "dx"},
         .mistakes = {
             {"the path through the variance is missing", mistake({.variance = 0})},
             {"the path through the mean is missing", mistake({.mean = 0})},
             {"only the direct path, dx_hat / sigma, is included",
              mistake({.mean = 0, .variance = 0})},
             {"the division by sigma is missing", mistake({.sigma = false})},
             {"gamma is missing; dx_hat is gamma dy", mistake({.gain = false})},
             {"a path is added that should be subtracted", mistake({.mean = -1, .variance = -1})},
             {"the mean of x_hat^2 is taken to be 1, but with epsilon it is a little less",
              mistake({.projected = true})},
             {"these are sums over the row where means should be",
              mistake({.mean = n, .variance = n})},
             {"the sum of dx_hat should be its mean", mistake({.mean = n})},
             {"the sum of dx_hat x_hat should be its mean", mistake({.variance = n})},
             {"the path through the variance has the wrong sign", mistake({.variance = -1})}}});
}

LayerNorm norm_with(const Tensor& gamma, Real eps) {
    LayerNorm norm(gamma.dim(0), {.eps = eps});
    norm.gamma.value = gamma;
    return norm;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto ones = [](Index n) { return Tensor::full({n}, 1); };
    add(cases, "gain 1", Tensor({1, 4}, {1, 1, 1, 5}), Tensor({1, 4}, {1, 0, 0, 0}),
        norm_with(ones(4), 0));
    add(cases, "gain 1", cases.normal({3, 5}), cases.normal({3, 5}), norm_with(ones(5), 0));
    add(cases, "gain 1", cases.uniform({4, 7}, -40, 60), cases.normal({4, 7}),
        norm_with(ones(7), 0));

    const Real eps = Real(1e-5);
    const auto drawn = [&](const char* criterion, const Shape& shape, Real size, Real of_eps) {
        Tensor x = cases.normal(shape);
        x *= size;
        add(cases, criterion, x, cases.normal(shape), norm_with(cases.normal({shape[-1]}), of_eps));
    };
    drawn("any gain", {3, 5}, 1, eps);
    drawn("any gain", {2, 3, 6}, 30, eps);
    drawn("any gain", {2, 3, 2, 5}, 1, eps);
    drawn("nearly constant rows", {3, 6}, Real(0.1), Real(1e-2));
    drawn("nearly constant rows", {4, 3}, Real(0.02), Real(1e-2));
    drawn("gradients of gain and shift", {1, 4}, 1, eps);
    drawn("gradients of gain and shift", {5, 3}, 1, eps);
    drawn("gradients of gain and shift", {2, 3, 7}, 1, eps);
}
