// Exercise 04.6: the fill that is too weak.
#include <cmath>
#include <functional>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "lib/matmul.hpp"

namespace abh::mine {

/// Attention weights where some keys are hidden.
/// @param q       queries, [B, H, Lq, d_k]
/// @param k       keys, [B, H, Lk, d_k]
/// @param hidden  1 where a key is hidden from all queries, [B, Lk]
/// @param scale   factor of the scores
/// @param fill    value of a hidden score when softmax reads it
/// @return        attention weights, [B, H, Lq, Lk]
Tensor masked_weights(const Tensor& q, const Tensor& k, const Mask& hidden, Real scale, Real fill) {
    // solution
    Tensor s = matmul(q, k, {.transpose_b = true, .scale = scale});  // [B, H, Lq, Lk]
    // stub
    // Tensor s = matmul(q, k, {.transpose_b = true});  // [B, H, Lq, Lk]
    // end
    for (Index b = 0; b < s.dim(0); ++b)
        for (Index h = 0; h < s.dim(1); ++h)
            for (Index i = 0; i < s.dim(2); ++i)
                for (Index j = 0; j < s.dim(3); ++j)
                    if (hidden(b, j) != 0) s(b, h, i, j) = fill;
    // solution
    // stub
    // s *= scale;
    // end
    return softmax(s);
}

/// A function with the parameters of `masked_weights`.
using Weights = std::function<Tensor(const Tensor&, const Tensor&, const Mask&, Real, Real)>;

/// Your test: whether `f` does what `masked_weights` should do.
/// @return  true if `f` is right
bool accepts(const Weights& f) {
    // solution
    const auto near = [](Real a, Real b) { return std::abs(a - b) < Real(1e-4); };
    const Mask hidden = Mask({1, 3}, {0, 0, 1});
    // The scores are 0, ln 3 and, hidden, ln 1/2, so the weights are as 1 to 3 to 1/2.
    const Tensor q({1, 1, 1, 1}, {8}), k({1, 1, 3, 1}, {0, std::log(Real(3)), 7});
    const Tensor w = f(q, k, hidden, Real(1) / 8, std::log(Real(0.5)));
    if (!near(w(0, 0, 0, 0), Real(2) / 9) || !near(w(0, 0, 0, 1), Real(6) / 9)) return false;
    if (!near(w(0, 0, 0, 2), Real(1) / 9)) return false;
    // Large scores: the larger one gets all the weight.
    const Tensor large = f(Tensor({1, 1, 1, 1}, {Real(4000)}), k, hidden, 1, Real(-1e9));
    if (!near(large(0, 0, 0, 1), 1) || !near(large(0, 0, 0, 2), 0)) return false;
    // Two sentences that hide different keys.
    const Tensor two = f(Tensor({2, 1, 1, 1}, {8, 8}), Tensor({2, 1, 2, 1}, {1, 1, 1, 1}),
                         Mask({2, 2}, {0, 1, 1, 0}), Real(1) / 8, Real(-1e9));
    return near(two(0, 0, 0, 1), 0) && near(two(1, 0, 0, 0), 0);
    // stub
    // (void)f;
    // return true;
    // end
}

}  // namespace abh::mine
