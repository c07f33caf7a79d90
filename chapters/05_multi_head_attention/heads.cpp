#include "chapters/05_multi_head_attention/heads.hpp"

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(split_heads) split_heads;
decltype(join_heads) join_heads;
}  // namespace plain
namespace cuda {
decltype(split_heads) split_heads;
decltype(join_heads) join_heads;
}  // namespace cuda
// [split and join]
Tensor split_heads(const Tensor& x, Index n_heads) {
    require(x.rank() == 3 && n_heads >= 1 && x.dim(2) % n_heads == 0,
            "split_heads: x has shape {}, its last axis is not divisible by {} heads", x.shape(),
            n_heads);
    return Ways{"heads", plain::split_heads, plain::split_heads, cuda::split_heads}(x, n_heads);
}

Tensor plain::split_heads(const Tensor& x, Index n_heads) {
    const Index batch = x.dim(0), length = x.dim(1), d_k = x.dim(2) / n_heads;
    Tensor y({batch, n_heads, length, d_k});
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < n_heads; ++h)
            matrix(y, b * n_heads + h) = matrix(x, b).middleCols(h * d_k, d_k);  // [L, d_k]
    return y;
}

Tensor join_heads(const Tensor& x) {
    require(x.rank() == 4, "join_heads: x has shape {}, expected [B, H, L, d_k]", x.shape());
    return Ways{"heads", plain::join_heads, plain::join_heads, cuda::join_heads}(x);
}

Tensor plain::join_heads(const Tensor& x) {
    const Index batch = x.dim(0), n_heads = x.dim(1), length = x.dim(2), d_k = x.dim(3);
    Tensor y({batch, length, n_heads * d_k});
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < n_heads; ++h)
            matrix(y, b).middleCols(h * d_k, d_k) = matrix(x, b * n_heads + h);  // [L, d_k]
    return y;
}

}  // namespace abh
