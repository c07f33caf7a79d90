#pragma once

#include <string>

#include "lib/parameter.hpp"
#include "lib/random.hpp"
#include "lib/tensor.hpp"
#include "lib/way.hpp"

namespace abh {
// [options]
/// How an embedding behaves; the defaults are those of PyTorch's `nn.Embedding`.
struct EmbeddingOptions {
    /// Multiply the vectors by sqrt(d_model), as the paper does.
    bool scale = false;
    /// This row starts at zero and gets no gradient; if negative, there is no such row.
    std::int32_t padding_id = -1;
    /// Standard deviation of the table's entries before training.
    Real deviation = 1;
};
// [embedding]
/// A table with one trained vector for each word: `y[b, t] = factor * table[ids[b, t]]`, where the
/// factor is sqrt(d_model) if the option `scale` is set, and otherwise 1.
///
/// Entries are drawn from a normal distribution with mean 0, as in PyTorch. Vaswani et al. 2017,
/// section 3.4.
class Embedding {
public:
    struct Cache {
        Way way = Way::fast;  ///< of the forward pass
        Ids ids;              ///< [B, L]
    };

    /// @throws std::invalid_argument unless both sizes are >= 1 and `padding_id` < `n_words`
    Embedding(Index n_words, Index d_model, EmbeddingOptions options, Random& random);

    /// @param ids    `[B, L]`, each in 0..n_words-1
    /// @param cache  filled for `backward`; leave it out at inference
    /// @return       `[B, L, d_model]`
    /// @throws std::invalid_argument for another shape, or naming the first id not in the table
    Tensor forward(const Ids& ids, Cache* cache = nullptr) const;
    /// Adds to the gradient of the table. Ids have no gradient, so nothing is returned.
    /// @param dy  gradient of the loss with respect to the vectors, `[B, L, d_model]`
    void backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    Index n_words() const { return table.value.dim(0); }
    Index d_model() const { return table.value.dim(1); }

    /// sqrt(d_model), or 1.
    Real factor() const;
    const EmbeddingOptions& options() const { return options_; }

    Parameter table;  ///< [n_words, d_model]

private:
    EmbeddingOptions options_;
};
// [operation]
/// What `Embedding::forward` computes.
Tensor embedding(const Ids& ids, const Embedding& words, Embedding::Cache* cache);
/// What `Embedding::backward` computes.
void embedding_backward(const Tensor& dy, Embedding& words, const Embedding::Cache& cache);

}  // namespace abh
