#include "chapters/02_positional_encoding/positional_encoding.hpp"

#include <cmath>

#include "chapters/02_positional_encoding/positional_encoding.cuh"
#include "lib/eigen.hpp"

namespace abh {
// [table]
double sinusoid_frequency(Index i, Index d_model) {
    return std::exp(-2.0 * static_cast<double>(i) * std::log(10000.0) /
                    static_cast<double>(d_model));
}

Tensor sinusoid_table(Index max_len, Index d_model) {
    Tensor table({max_len, d_model});
    for (Index i = 0; 2 * i < d_model; ++i) {  // columns 2i and 2i + 1 share one frequency
        const double frequency = sinusoid_frequency(i, d_model);
        for (Index p = 0; p < max_len; ++p) {
            const double angle = static_cast<double>(p) * frequency;
            table(p, 2 * i) = static_cast<Real>(std::sin(angle));
            if (2 * i + 1 < d_model) table(p, 2 * i + 1) = static_cast<Real>(std::cos(angle));
        }
    }
    return table;
}
// [construct]
PositionalEncoding::PositionalEncoding(Index d_model, PositionalEncodingOptions options,
                                       Random& random)
    : kind_(options.kind), dropout_(options.dropout, random) {
    require(d_model >= 1 && options.max_len >= 1,
            "positional encoding: {} positions of width {}; both must be at least 1",
            options.max_len, d_model);
    table =
        Parameter(kind_ == Positions::learned ? normal({options.max_len, d_model}, random.stream())
                                              : sinusoid_table(options.max_len, d_model));
}

void PositionalEncoding::collect(Parameters& list, const std::string& name) {
    if (kind_ == Positions::learned) list.push_back({join_name(name, "weight"), &table});
}
// [forward]
Tensor PositionalEncoding::forward(const Tensor& x, Cache* cache, Index first) const {
    require(x.rank() == 3 && x.dim(2) == table.value.dim(1),
            "positional encoding: x has shape {}, expected [B, L, {}]", x.shape(),
            table.value.dim(1));
    const Index batch = x.dim(0), length = x.dim(1);
    require(first >= 0 && first + length <= max_len(),
            "positional encoding: positions {} to {} asked for, the table has 0 to {}", first,
            first + length - 1, max_len() - 1);
    Tensor y(x.shape());  // [B, L, d_model]
    if (on_cuda())
        cuda::add_positions(y, x, table.value, first);
    else
        for (Index b = 0; b < batch; ++b)
            matrix(y).middleRows(b * length, length) =
                matrix(x).middleRows(b * length, length) +      // [L, d_model]
                matrix(table.value).middleRows(first, length);  // the same for every b
    if (cache) {
        cache->shape = x.shape();
        cache->first = first;
    }
    return dropout_.forward(y, cache ? &cache->dropout : nullptr);
}
// [backward]
// forward was:  y = dropout(x + table[first .. first + L - 1]), the same rows for every sentence
// hence:        dx = dropout backward of dy,  dtable[first + l] = sum of dx[b, l] over sentences b
Tensor PositionalEncoding::backward(const Tensor& dy, const Cache& cache) {
    require_shape(dy.shape(), cache.shape, "positional encoding backward", "dy");
    const Tensor dx = dropout_.backward(dy, cache.dropout);  // [B, L, d_model]
    const Index length = dx.dim(1);
    if (kind_ == Positions::learned && on_cuda())
        cuda::add_up_positions(table.grad(), dx, cache.first);
    else if (kind_ == Positions::learned)
        for (Index b = 0; b < dx.dim(0); ++b)
            matrix(table.grad()).middleRows(cache.first, length) +=
                matrix(dx).middleRows(b * length, length);
    return dx;
}

}  // namespace abh
