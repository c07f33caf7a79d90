#pragma once

#include <string>

#include "chapters/02_positional_encoding/dropout.hpp"
#include "lib/parameter.hpp"
#include "lib/random.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [table]
/// The angle by which columns 2i and 2i + 1 turn from one position to the next, `10000^(-2i / d)`.
double sinusoid_frequency(Index i, Index d_model);

/// The table of Vaswani et al. 2017, section 3.5:
/// `PE[t, 2i] = sin(t / 10000^(2i / d))`, `PE[t, 2i + 1] = cos(t / 10000^(2i / d))`.
///
/// Computed in double precision. An odd `d_model` ends with a sine that has no cosine.
/// @return `[max_len, d_model]`
Tensor sinusoid_table(Index max_len, Index d_model);
// [options]
enum class Positions {
    sinusoid,            ///< sines and cosines side by side
    learned,             ///< one trained vector per position
    sines_then_cosines,  ///< the sinusoid with all sines first
    none,                ///< zeros, for comparison: no place has a code
};

struct PositionalEncodingOptions {
    Positions kind = Positions::sinusoid;
    Index max_len = 5000;
    Real dropout = 0;
};
// [operation]
/// What the backward pass needs.
struct PositionsCache {
    Way way = Way::fast;  ///< of the forward pass
    Shape shape;          ///< of x, [B, L, d_model]
    Index first = 0;      ///< position of the first vector
};
/// `y[b, t] = x[b, t] + table[first + t]`.
Tensor add_positions(const Tensor& x, const Tensor& table, Index first,
                     PositionsCache* cache = nullptr);
/// `dtable[first + t] += sum of dx[b, t] over sentences b`.
void add_positions_backward(Tensor& dtable, const Tensor& dx, const PositionsCache& cache);
// [positional encoding]
/// Adds a code of its position to each vector, then drops out: `y = dropout(x + table[position])`.
///
/// The table is the fixed sinusoid, with its columns in one of two orders, or zero, or one learned
/// vector per position, drawn from the standard normal distribution.
class PositionalEncoding {
public:
    struct Cache {
        PositionsCache positions;
        Dropout::Cache dropout;
    };

    /// @throws std::invalid_argument unless both sizes are >= 1 and 0 <= dropout < 1
    PositionalEncoding(Index d_model, PositionalEncodingOptions options, Random& random);

    /// @param x      `[B, L, d_model]`
    /// @param cache  filled for `backward`; leave it out at inference
    /// @param first  position of the first vector; 0 except when decoding word by word
    /// @return       `[B, L, d_model]`
    /// @throws std::invalid_argument for another shape, or unless `first` >= 0 and `first + L` <=
    /// `max_len`
    Tensor forward(const Tensor& x, Cache* cache = nullptr, Index first = 0) const;
    /// Adds to the gradient of a learned table.
    /// @param dy  gradient of the loss with respect to `y`, `[B, L, d_model]`
    /// @return    `dx`, `[B, L, d_model]`; `dy` itself if nothing can be dropped
    Tensor backward(const Tensor& dy, const Cache& cache);

    /// Adds the table if it is learned; the sinusoid is not a parameter.
    void collect(Parameters& list, const std::string& name);

    Index max_len() const { return table.value.dim(0); }

    Parameter table;  ///< [max_len, d_model]

private:
    Positions kind_;
    Dropout dropout_;
};

}  // namespace abh
