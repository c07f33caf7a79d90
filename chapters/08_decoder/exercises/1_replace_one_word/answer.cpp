// Exercise 08.1: replace one word.
#include <functional>
#include <stdexcept>

#include "lib/tensor.hpp"

namespace abh::mine {

/// Which rows of the logits move if one word is changed from `id` to `(id + 1) % n_words`.
/// @param words   ids of one sentence, `[1, L]`
/// @param logits  takes words of the same shape, returns `[1, L, n_words]`
/// @return        `[L, L]`: entry (j, t) is 1 if row t moves with word j, else 0
Tensor influence(const Ids& words, Index n_words,
                 const std::function<Tensor(const Ids& words)>& logits) {
    // solution
    const Index length = words.dim(1);
    const Tensor before = logits(words);
    Tensor moved = Tensor::zeros({length, length});
    for (Index j = 0; j < length; ++j) {
        Ids changed = words.clone();
        changed(0, j) = static_cast<std::int32_t>((words(0, j) + 1) % n_words);
        const Tensor after = logits(changed);
        for (Index t = 0; t < length; ++t)
            for (Index n = 0; n < n_words; ++n)
                if (after(0, t, n) != before(0, t, n)) moved(j, t) = 1;
    }
    return moved;
    // stub
    // (void)words, (void)n_words, (void)logits;
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
