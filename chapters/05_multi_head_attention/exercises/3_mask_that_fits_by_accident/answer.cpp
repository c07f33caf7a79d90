// Exercise 05.3: the mask that fits by accident.
#include <functional>
#include <stdexcept>
#include <string>

#include "lib/tensor.hpp"

namespace abh::mine {

/// Inserts the axis for the heads.
/// @param any  masks of the sentences, [B, Lq, Lk]
/// @return     the same for all heads, in the shape that `attention` takes
Mask with_heads(const Mask& any) {
    // solution
    return any.reshape({any.dim(0), 1, any.dim(1), any.dim(2)});
    // stub
    // return any.reshape({1, any.dim(0), any.dim(1), any.dim(2)});
    // end
}

/// What `attention` does with the mask as it was: "throws", "right" or "wrong".
/// @param n_sentences  B
/// @param n_heads      H
std::string outcome(Index n_sentences, Index n_heads) {
    // solution
    return n_sentences == 1 ? "right" : n_sentences == n_heads ? "wrong" : "throws";
    // stub
    // (void)n_sentences, (void)n_heads;
    // throw std::logic_error("not written yet");
    // end
}

/// Your test of a function that should do the same as `with_heads`.
/// @return  true if `f` is right
bool accepts(const std::function<Mask(const Mask&)>& f) {
    // solution
    const Mask any({2, 1, 1}, {0, 1});
    const Mask mask = f(any);
    if (!(mask.shape() == Shape{2, 1, 1, 1})) return false;
    for (std::size_t at = 0; at < any.values().size(); ++at)
        if (mask.values()[at] != any.values()[at]) return false;
    return true;
    // stub
    // (void)f;
    // return true;
    // end
}

}  // namespace abh::mine
