#include "judge/answer/cases.hpp"

#include <cmath>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/matmul.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const char* criterion, const Tensor& q, const Tensor& k, const Tensor& v,
         const Tensor& dy, const Mask& mask, Real c) {
    AttentionCache cache;
    attention(q, k, v, mask, {.scale = c}, &cache);
    Tensor ds = softmax_backward(matmul(dy, v, {.transpose_b = true}), cache.weights);
    masked_fill(ds, mask, 0);
    const Tensor products = matmul(q, k, {.transpose_b = true});
    const Real dc = static_cast<Real>(dot(ds, products));
    const Tensor scale({1}, {c});
    require_close(
        Tensor({1}, {dc}),
        differences([&] { return attention(q, k, v, mask, {.scale = scale(0)}); }, scale, dy),
        "scale_gradient");

    const Real n = static_cast<Real>(ds.size());
    const Tensor ones = Tensor::full(ds.shape(), 1);
    cases.add({.criterion = criterion,
               .call = "scale_gradient",
               .arguments = values(ds, q, k),
               .results = values(dc),
               .about = fmt::format("ds {}, d_k {}", ds.shape(), q.dim(3)),
               .names = {"ds", "q", "k", "dc"},
               .constants = {{"sqrt(d_k)", std::sqrt(static_cast<double>(q.dim(3)))}},
               .mistakes = {
                   {"this is the mean over all scores; c enters every one of them, so dc is a sum",
                    values(dc / n)},
                   {"this is the sum for the first sentence alone, but all sentences share c",
                    values(static_cast<Real>(dot(ds.rows(0, 1), products.rows(0, 1))))},
                   {"the factor ds is missing; it says how much the loss moves with each score",
                    values(static_cast<Real>(dot(ones, products)))},
                   {"the products <q, k> are missing; they say how much each score moves with c",
                    values(static_cast<Real>(dot(ds, ones)))}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "one head", Tensor({1, 1, 1, 4}, {2, 0, 0, 0}),
        Tensor({1, 1, 3, 4}, {std::log(Real(3)), 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0}),
        Tensor({1, 1, 3, 1}, {4, 0, 7}), Tensor({1, 1, 1, 1}, {1}), Mask({1, 1, 1, 3}, {0, 0, 1}),
        Real(0.5));
    const auto drawn = [&](const char* criterion, Index batch, Index heads, const Mask& mask) {
        const Index n_queries = 3, n_keys = 5, d_k = cases.between(2, 6);
        const Real c = cases.uniform({1}, 0.2, 1.5)(0);
        add(cases, criterion, cases.normal({batch, heads, n_queries, d_k}),
            cases.normal({batch, heads, n_keys, d_k}), cases.normal({batch, heads, n_keys, 2}),
            cases.normal({batch, heads, n_queries, 2}), mask, c);
    };
    drawn("one head", 1, 1, {});
    drawn("one head", 1, 1, {});
    drawn("batches and heads", 2, 1, {});
    drawn("batches and heads", 3, 4, {});
    drawn("hidden scores", 2, 2, Mask({2, 1, 1, 5}, {0, 0, 0, 1, 1, 0, 0, 0, 0, 1}));
    Mask every({1, 1, 3, 5});  // a query with every key hidden
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 5; ++j) every(0, 0, i, j) = i == 1 || j > i + 2;
    drawn("hidden scores", 2, 3, every);
}
