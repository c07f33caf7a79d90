#include "judge/answer/cases.hpp"

#include <cstdint>

#include "chapters/06_feed_forward/add_norm.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const Shape& shape, Real p) {
    const Tensor x = cases.normal(shape), f = cases.normal(shape), dy = cases.normal(shape);
    const auto seed = static_cast<std::uint64_t>(cases.between(1, 1000000));
    Random random(seed);
    const Dropout dropout(p, random);
    LayerNorm norm(shape[-1]);
    norm.gamma.value = cases.normal({shape[-1]});
    norm.beta.value = cases.normal({shape[-1]});
    const Tensor &gamma = norm.gamma.value, &beta = norm.beta.value;
    const std::string about = fmt::format("x {}, dropout {}", shape, p);
    const auto normed = [&](const Tensor& sum) { return values(norm.forward(sum)); };

    AddNormCache cache;
    const Tensor y = add_norm(x, f, dropout, norm, &cache);
    const Tensor dropped = dropout.backward(f, cache.dropout);  // the same map as the forward
    cases.add({.criterion = "inference",
               .call = "inference",
               .arguments = values(x, f, p, seed, gamma, beta),
               .results = values(add_norm(x, f, dropout, norm, nullptr)),
               .about = about,
               .names = {"x", "f", "p", "seed", "gamma", "beta", "y"},
               .mistakes = {{"x is missing in the sum", normed(f)},
                            {"something is dropped at inference", values(y)},
                            {"this is the sum, before the norm", values(x + f)}}});
    if (p > 0)
        cases.add({.criterion = "training with dropout",
                   .call = "training",
                   .arguments = values(x, f, p, seed, gamma, beta),
                   .results = values(y),
                   .about = about,
                   .names = {"x", "f", "p", "seed", "gamma", "beta", "y"},
                   .mistakes = {{"x is missing in the sum", normed(dropped)},
                                {"nothing is dropped", normed(x + f)},
                                {"x is dropped, too; dropout is for the sublayer's output alone",
                                 normed(dropout.backward(x + f, cache.dropout))},
                                {"the result is dropped instead of the sublayer's output",
                                 values(dropout.backward(norm.forward(x + f), cache.dropout))}}});

    const auto [dx, dsublayer] = add_norm_backward(dy, dropout, norm, cache);
    const Tensor dgamma = norm.gamma.grad().clone(), dbeta = norm.beta.grad().clone();
    const auto forward = [&] {
        AddNormCache other;
        return add_norm(x, f, dropout, norm, &other);
    };
    require_close(dx, differences(forward, x, dy), "dx", 1e-5);
    require_close(dsublayer, differences(forward, f, dy), "dsublayer", 1e-5);
    require_close(dgamma, differences(forward, gamma, dy), "dgamma");
    require_close(dbeta, differences(forward, beta, dy), "dbeta");
    cases.add(
        {.criterion = p > 0 ? "backward with dropout" : "backward",
         .call = "backward",
         .arguments = values(dy, x, f, p, seed, gamma, beta),
         .results = values(dx, dsublayer, dgamma, dbeta),
         .about = about,
         .names = {"dy", "x", "f", "p", "seed", "gamma", "beta", "dx", "dsublayer", "dgamma",
                   "dbeta"},
         .mistakes = {{"the gradient along the residual connection is dropped, too; x was not",
                       values(dsublayer, dsublayer, dgamma, dbeta)},
                      {"the sublayer's gradient does not go back through dropout",
                       values(dx, dx, dgamma, dbeta)},
                      {"both gradients are added up; the caller does that, after the sublayer's "
                       "own backward pass",
                       values(dx + dsublayer, dsublayer, dgamma, dbeta)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, {3, 5}, 0);
    add(cases, {2, 3, 4}, 0);
    add(cases, {2, 4, 6}, Real(0.5));
    add(cases, {3, 1, 7}, Real(0.2));
}
