// Exercise 10.1: attention of one query against kept keys.
#include <stdexcept>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/10_greedy_decoding/key_values.hpp"

namespace abh::mine {

/// @param q          `[n, H, 1, d_k]`
/// @param kv         of B sentences, `[B, H, room, d_k]`
/// @param length     how many rows of the room are in use, at least 1
/// @param hidden     `[B, 1, room, 1]`, 1 = hide
/// @param sentences  which of the B sentences each query belongs to, `[n]`
/// @param options    scale and fill
/// @return           `[n, H, 1, d_k]`
Tensor attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                     const Ids& sentences, const AttentionOptions& options) {
    // solution
    const Index d_k = q.dim(3);
    Tensor context = Tensor::zeros(q.shape());
    for (Index i = 0; i < q.dim(0); ++i) {
        const Index b = sentences(i);
        for (Index h = 0; h < q.dim(1); ++h) {
            Tensor scores({length});
            for (Index j = 0; j < length; ++j) {
                scores(j) = 0;
                for (Index c = 0; c < d_k; ++c) scores(j) += q(i, h, 0, c) * kv.k(b, h, j, c);
                scores(j) *= scale_of(options, d_k);
                if (hidden(b, 0, j, 0)) scores(j) = fill_of(options, d_k);
            }
            const Tensor weights = softmax(scores);
            for (Index j = 0; j < length; ++j)
                for (Index c = 0; c < d_k; ++c)
                    context(i, h, 0, c) += weights(j) * kv.v(b, h, j, c);
        }
    }
    return context;
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
