// Exercise 03.3: keep and hide mixed up.
#include <functional>

#include "lib/tensor.hpp"

namespace abh::mine {

/// Hides pads and the future in one mask.
/// @param keep  [B, L], 1 where a word is real, 0 where it is a pad
/// @return      [B, L, L], 1 = hide
Mask decoder_mask(const Mask& keep) {
    Mask mask({keep.dim(0), keep.dim(1), keep.dim(1)});
    for (Index b = 0; b < mask.dim(0); ++b)
        for (Index i = 0; i < mask.dim(1); ++i)
            for (Index j = 0; j < mask.dim(2); ++j) {
                // solution
                const bool kept = keep(b, j) != 0 && j <= i;
                // stub
                // const bool kept = keep(b, j) != 0 || j <= i;
                // end
                mask(b, i, j) = !kept;
            }
    return mask;
}

/// Your test: whether `f` does what `decoder_mask` should do.
/// @return  true if `f` is right
bool accepts(const std::function<Mask(const Mask&)>& f) {
    // solution
    const Mask keep({2, 3}, {1, 1, 1, 1, 0, 1});
    const Mask mask = f(keep);
    if (!(mask.shape() == Shape{2, 3, 3})) return false;
    for (Index b = 0; b < 2; ++b)
        for (Index i = 0; i < 3; ++i)
            for (Index j = 0; j < 3; ++j)
                if (mask(b, i, j) != (j > i || keep(b, j) == 0)) return false;
    return true;
    // stub
    // (void)f;
    // return true;
    // end
}

}  // namespace abh::mine
