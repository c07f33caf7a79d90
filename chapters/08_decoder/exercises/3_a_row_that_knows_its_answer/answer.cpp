// Exercise 08.3: a row that knows its answer.
#include <functional>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/08_decoder/decoder.hpp"

namespace abh::mine {

using Rows = std::function<Tensor(const Ids& target)>;

/// The decoder's rows, where row t must say word t of the target.
/// @param target    ids `[B, Lt]`, 0 is the pad
/// @param start     the id of the start symbol
/// @param memory    `[B, Ls, d_model]`
/// @param source    ids `[B, Ls]`
/// @return          `[B, Lt, d_model]`
Tensor rows_of(const Ids& target, std::int32_t start, const Tensor& memory, const Ids& source,
               const Embedding& words_of, const Decoder& decoder) {
    Ids input(target.shape());
    for (Index b = 0; b < target.dim(0); ++b)
        for (Index t = 0; t < target.dim(1); ++t) input(b, t) = t == 0 ? start : target(b, t - 1);
    // solution
    const AttentionMask self_mask = hide_pads(input) | hide_future();
    // stub
    // const AttentionMask self_mask = hide_pads(input);
    // end
    return decoder.forward(words_of.forward(input), memory, self_mask, hide_pads(source));
}

/// Whether row t moves with every word before t, and with no other word.
/// @param rows     takes ids `[1, Lt]` from 1 to n_words - 1, returns `[1, Lt, d_model]`
/// @param n_words  at least 3
bool accepts(const Rows& rows, Index n_words) {
    // solution
    const Index length = 6;
    Ids target({1, length});
    for (Index t = 0; t < length; ++t)
        target(0, t) = static_cast<std::int32_t>(1 + t % (n_words - 1));
    const Tensor before = rows(target);
    for (Index j = 0; j < length; ++j) {
        Ids changed = target.clone();
        changed(0, j) = static_cast<std::int32_t>(1 + target(0, j) % (n_words - 1));
        const Tensor after = rows(changed);
        for (Index t = 0; t < length; ++t) {
            const Tensor a = before.reshape({length, before.dim(2)}).rows(t, t + 1),
                         b = after.reshape({length, after.dim(2)}).rows(t, t + 1);
            const bool moved = max_difference(a, b) != 0;
            if (moved != (t > j)) return false;
        }
    }
    return true;
    // stub
    // return true;
    // end
}

}  // namespace abh::mine
