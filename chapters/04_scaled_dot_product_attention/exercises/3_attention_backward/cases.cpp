#include "judge/answer/cases.hpp"

#include <cmath>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "lib/matmul.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

struct Inputs {
    Tensor q, k, v, dy, bias;  // bias: [H, Lq + Lk - 1]
    Mask hidden;               // [B, H, Lq, Lk]
};

Inputs draw(Cases& cases, Index batch, Index heads, Index n_queries, Index n_keys) {
    const Index d_k = cases.between(3, 6), d_v = 2;
    return {cases.normal({batch, heads, n_queries, d_k}),
            cases.normal({batch, heads, n_keys, d_k}),
            cases.normal({batch, heads, n_keys, d_v}),
            cases.normal({batch, heads, n_queries, d_v}),
            cases.normal({heads, n_queries + n_keys - 1}),
            Mask::full({batch, heads, n_queries, n_keys}, 0)};
}

/// The place of the bias for query i and key j.
Index place(const Tensor& s, Index i, Index j) {
    return j - i + s.dim(2) - 1;
}

/// Calls `f(s, bias of s)` for each score.
template <class F>
void for_each_score(Tensor& s, Tensor& bias, F f) {
    for (Index b = 0; b < s.dim(0); ++b)
        for (Index h = 0; h < s.dim(1); ++h)
            for (Index i = 0; i < s.dim(2); ++i)
                for (Index j = 0; j < s.dim(3); ++j) f(s(b, h, i, j), bias(h, place(s, i, j)));
}

Tensor weights(Inputs in) {
    const Real c = 1 / std::sqrt(static_cast<Real>(in.q.dim(3)));
    Tensor s = matmul(in.q, in.k, {.transpose_b = true, .scale = c});
    for_each_score(s, in.bias, [](Real& score, Real& bias) { score += bias; });
    masked_fill(s, in.hidden, Real(-1e9));
    return softmax(s);
}

Tensor bias_gradient(Tensor ds, bool adds = true) {
    Tensor dbias = Tensor::zeros({ds.dim(1), ds.dim(2) + ds.dim(3) - 1});
    for_each_score(ds, dbias, [&](Real& d, Real& sum) { sum = adds ? sum + d : d; });
    return dbias;
}

/// dq and dk from ds, then dv and dbias.
Values gradients(const Inputs& in, const Tensor& ds, Real c, const Tensor& dv,
                 const Tensor& dbias) {
    return values(matmul(ds, in.k, {.scale = c}),
                  matmul(ds, in.q, {.transpose_a = true, .scale = c}), dv, dbias);
}

Tensor times(const Tensor& a, const Tensor& b) {
    Tensor y = a.clone();
    for (Index i = 0; i < y.size(); ++i) y.data()[i] *= b.data()[i];
    return y;
}

void add(Cases& cases, const char* criterion, const Inputs& in) {
    const auto forward = [&] { return matmul(weights(in), in.v); };
    const Tensor w = weights(in), dv = matmul(w, in.dy, {.transpose_a = true});
    const Real root = std::sqrt(static_cast<Real>(in.q.dim(3))), c = 1 / root;
    const Tensor dw = matmul(in.dy, in.v, {.transpose_b = true});
    const Tensor not_hidden = softmax_backward(dw, w);
    Tensor ds = not_hidden.clone(), no_softmax = dw.clone(), diagonal = times(w, dw);
    for (Tensor* t : {&ds, &no_softmax, &diagonal}) masked_fill(*t, in.hidden, 0);
    const Tensor dbias = bias_gradient(ds);
    const Values right = gradients(in, ds, c, dv, dbias);
    require_close(as<Tensor>(right[0]), differences(forward, in.q, in.dy), "dq");
    require_close(as<Tensor>(right[1]), differences(forward, in.k, in.dy), "dk");
    require_close(dv, differences(forward, in.v, in.dy), "dv");
    require_close(dbias, differences(forward, in.bias, in.dy), "dbias");

    const std::string about = fmt::format("scores {}", w.shape());
    if (criterion == std::string("values")) {
        cases.add({.criterion = criterion,
                   .call = "values_backward",
                   .arguments = values(in.dy, w),
                   .results = values(dv),
                   .about = about,
                   .names = {"dy", "w", "dv"}});
        return;
    }
    Tensor scaled = dbias.clone();
    scaled *= c;
    cases.add(
        {.criterion = criterion,
         .call = "attention_backward",
         .arguments = values(in.dy, in.q, in.k, in.v, w, in.hidden),
         .results = right,
         .about = about,
         .names = {"dy", "q", "k", "v", "w", "hidden", "dq", "dk", "dv", "dbias"},
         .constants = {{"sqrt(d_k)", static_cast<double>(root)}},
         .mistakes = {
             {"a hidden score gets a gradient, but should not: the fill is a constant, whatever q, "
              "k and the bias are",
              gradients(in, not_hidden, c, dv, bias_gradient(not_hidden))},
             {"ds is taken to be dw, so the backward pass of softmax is missing",
              gradients(in, no_softmax, c, dv, bias_gradient(no_softmax))},
             {"the backward pass of softmax is its diagonal alone, w dw: the mean cost of the row "
              "is missing",
              gradients(in, diagonal, c, dv, bias_gradient(diagonal))},
             {"many scores share one number of the bias, so their gradients add instead of "
              "replacing one another",
              gradients(in, ds, c, dv, bias_gradient(ds, false))},
             {"the bias is added to the scores after the scale, and so is not scaled",
              gradients(in, ds, c, dv, scaled)}}});
}

/// Hides key j from query i.
void hide(Mask& hidden, Index b, Index h, Index i, Index j) {
    hidden(b, h, i, j) = 1;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "values", draw(cases, 1, 1, 4, 4));
    add(cases, "values", draw(cases, 2, 3, 2, 5));
    Inputs worked{Tensor({1, 1, 1, 4}, {2, 0, 0, 0}),
                  Tensor({1, 1, 3, 4}, {std::log(Real(3)), 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0}),
                  Tensor({1, 1, 3, 1}, {4, 0, 7}),
                  Tensor({1, 1, 1, 1}, {1}),
                  Tensor::zeros({1, 3}),
                  Mask({1, 1, 1, 3}, {0, 0, 1})};
    add(cases, "one head", worked);
    add(cases, "one head", draw(cases, 1, 1, 3, 5));
    add(cases, "one head", draw(cases, 1, 1, 1, 4));
    add(cases, "one head", draw(cases, 1, 1, 4, 4));
    add(cases, "batches and heads", draw(cases, 2, 3, 4, 5));
    add(cases, "batches and heads", draw(cases, 3, 2, 5, 2));
    Inputs some = draw(cases, 2, 2, 4, 4);
    for (Index i = 0; i < 4; ++i)
        for (Index j = i + 1; j < 4; ++j)
            for (Index h = 0; h < 2; ++h) {
                hide(some.hidden, 0, h, i, j);
                hide(some.hidden, 1, h, i, 3);
            }
    add(cases, "hidden keys", some);
    Inputs every = draw(cases, 2, 1, 3, 4);
    for (Index j = 0; j < 4; ++j) {
        hide(every.hidden, 0, 0, 1, j);
        hide(every.hidden, 1, 0, 2, j);
    }
    add(cases, "rows with every key hidden", every);
}
