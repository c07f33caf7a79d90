#include "lib/tensor.hpp"

namespace abh::mine {

Ids next_words(const Tensor& y, const Tensor& weight) {
    const Index batch = y.dim(0), length = y.dim(1), n_words = weight.dim(0), d = y.dim(2);
    Tensor logits({batch, length, n_words});
    const Real *const rows = y.data(), *const words = weight.data();
    Real* z = logits.data();
    for (Index r = 0; r < batch * length; ++r)
        for (Index v = 0; v < n_words; ++v, ++z) {
            Real sum = 0;
            for (Index k = 0; k < d; ++k) sum += rows[r * d + k] * words[v * d + k];
            *z = sum;
        }
    Ids next({batch});
    for (Index b = 0; b < batch; ++b) {
        const Real* const last = logits.data() + (b * length + length - 1) * n_words;
        next(b) = static_cast<std::int32_t>(std::max_element(last, last + n_words) - last);
    }
    return next;
}

}  // namespace abh::mine
