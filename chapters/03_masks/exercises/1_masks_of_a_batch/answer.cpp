// Exercise 03.1: the masks of a batch.
#include <stdexcept>

#include "lib/tensor.hpp"

namespace abh::mine {

/// The mask of cross-attention.
/// @param target  ids of the queries, [B, Lt]
/// @param source  ids of the keys, [B, Ls]
/// @param pad     the id that means padding
/// @return        [B, 1, Lt, Ls], 1 = hide
Mask cross_mask(const Ids& target, const Ids& source, std::int32_t pad) {
    Mask mask({source.dim(0), 1, target.dim(1), source.dim(1)});
    // solution
    for (Index b = 0; b < mask.dim(0); ++b)
        for (Index i = 0; i < mask.dim(2); ++i)
            for (Index j = 0; j < mask.dim(3); ++j) mask(b, 0, i, j) = source(b, j) == pad;
    // stub
    // (void)pad;
    // throw std::logic_error("not written yet");
    // end
    return mask;
}

/// The mask of the decoder's self-attention.
/// @param target  ids of queries and keys, [B, Lt]
/// @param pad     the id that means padding
/// @return        [B, 1, Lt, Lt], 1 = hide
Mask decoder_mask(const Ids& target, std::int32_t pad) {
    Mask mask({target.dim(0), 1, target.dim(1), target.dim(1)});
    // solution
    for (Index b = 0; b < mask.dim(0); ++b)
        for (Index i = 0; i < mask.dim(2); ++i)
            for (Index j = 0; j < mask.dim(3); ++j) mask(b, 0, i, j) = j > i || target(b, j) == pad;
    // stub
    // (void)pad;
    // throw std::logic_error("not written yet");
    // end
    return mask;
}

}  // namespace abh::mine
