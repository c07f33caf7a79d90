// Exercise 01.1: the gradient of a look-up.
#include <stdexcept>

#include "chapters/01_embedding/embedding.hpp"
#include "lib/eigen.hpp"

namespace abh::mine {

/// Adds dE to `words.table.grad()`, [V, d_model].
/// @param dy_    gradient of the loss with respect to the vectors, [B, L, d_model]
/// @param words  has `factor()`, which is sqrt(d_model) or 1, and `options().padding_id`, the row
///               that gets no gradient, or a negative number if there is none
/// @param cache  holds `ids`, [B, L]
void embedding_backward(const Tensor& dy_, Embedding& words, const Embedding::Cache& cache) {
    const Ids ids = cache.ids.reshape({cache.ids.size()});                  // [R]
    const Tensor dy = dy_.reshape({ids.size(), words.table.value.dim(1)});  // [R, d_model]
    Tensor& dtable = words.table.grad();                                    // [V, d_model]
    // solution
    for (Index r = 0; r < ids.size(); ++r) {
        if (ids(r) == words.options().padding_id) continue;
        for (Index c = 0; c < dy.dim(1); ++c) dtable(ids(r), c) += words.factor() * dy(r, c);
    }
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
