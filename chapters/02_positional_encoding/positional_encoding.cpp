#include "chapters/02_positional_encoding/positional_encoding.hpp"

#include <cmath>

#include "chapters/02_positional_encoding/other_tables.hpp"
#include "lib/eigen.hpp"
#include "lib/part.hpp"

namespace abh {
namespace plain {
decltype(add_positions) add_positions;
decltype(add_positions_backward) add_positions_backward;
}  // namespace plain
namespace cuda {
decltype(add_positions) add_positions;
decltype(add_positions_backward) add_positions_backward;
}  // namespace cuda
// [frequency]
double sinusoid_frequency(Index i, Index d_model) {
    return std::exp(-2.0 * i * std::log(10000.0) / d_model);
}
// [table]
Tensor sinusoid_table(Index max_len, Index d_model) {
    Tensor table({max_len, d_model});
    for (Index i = 0; 2 * i < d_model; ++i) {  // columns 2i and 2i + 1 share one frequency
        const double frequency = sinusoid_frequency(i, d_model);
        for (Index t = 0; t < max_len; ++t) {
            const double angle = t * frequency;
            table(t, 2 * i) = std::sin(angle);
            if (2 * i + 1 < d_model) table(t, 2 * i + 1) = std::cos(angle);
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
    const auto start = [&]() -> Tensor {
        switch (kind_) {
            case Positions::learned:
                return normal({options.max_len, d_model}, random.stream());
            case Positions::sines_then_cosines:
                return sines_then_cosines(options.max_len, d_model);
            case Positions::none:
                return Tensor::zeros({options.max_len, d_model});
            default:
                return sinusoid_table(options.max_len, d_model);
        }
    };
    table = Parameter(start());
}

void PositionalEncoding::collect(Parameters& list, const std::string& name) {
    if (kind_ == Positions::learned) list.push_back({join_name(name, "weight"), &table});
}
// [forward]
Tensor PositionalEncoding::forward(const Tensor& x, Cache* cache, Index first) const {
    require(x.rank() == 3 && x.dim(2) == table.value.dim(1),
            "positional encoding: x has shape {}, expected [B, L, {}]", x.shape(),
            table.value.dim(1));
    const Index length = x.dim(1);
    require(first >= 0 && first + length <= max_len(),
            "positional encoding: positions {} to {} requested, but the table has 0 to {}", first,
            first + length - 1, max_len() - 1);
    const Tensor y = add_positions(x, table.value, first, part(cache, &Cache::positions));
    return dropout_.forward(y, part(cache, &Cache::dropout));
}
// [operation]
Tensor add_positions(const Tensor& x, const Tensor& table, Index first, PositionsCache* cache) {
    if (cache) *cache = {way(), x.shape(), first};
    return Ways{"positions", plain::add_positions, plain::add_positions, cuda::add_positions}(
        x, table, first, cache);
}
// [plain]
Tensor plain::add_positions(const Tensor& x, const Tensor& table, Index first, PositionsCache*) {
    Tensor y(x.shape());
    for (Index b = 0; b < x.dim(0); ++b)  // the same rows for every sentence
        matrix(y, b) = matrix(x, b) + matrix(table).middleRows(first, x.dim(1));  // [L, d_model]
    return y;
}
// [plain: backward]
// forward was:  y[b] = x[b] + table[first .. first + L - 1], the same rows in every sentence b
void plain::add_positions_backward(Tensor& dtable, const Tensor& dx, const PositionsCache& cache) {
    for (Index b = 0; b < dx.dim(0); ++b)
        matrix(dtable).middleRows(cache.first, dx.dim(1)) += matrix(dx, b);
}
// [backward]
// forward was:  y = dropout(x + table[first .. first + L - 1]), the same rows for every sentence
// hence:        dx = dropout backward of dy,  dtable[first + t] = sum of dx[b, t] over sentences b
Tensor PositionalEncoding::backward(const Tensor& dy, const Cache& cache) {
    require_shape(dy.shape(), cache.positions.shape, "positional encoding backward", "dy");
    const Tensor dx = dropout_.backward(dy, cache.dropout);  // [B, L, d_model]
    if (kind_ == Positions::learned) add_positions_backward(table.grad(), dx, cache.positions);
    return dx;
}
// [operation: backward]
void add_positions_backward(Tensor& dtable, const Tensor& dx, const PositionsCache& cache) {
    const ScopedWay scoped(cache.way);
    Ways{"positions", plain::add_positions_backward, plain::add_positions_backward,
         cuda::add_positions_backward}(dtable, dx, cache);
}

}  // namespace abh
