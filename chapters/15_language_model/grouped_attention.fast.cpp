#include "chapters/15_language_model/grouped_attention.hpp"

#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
namespace {
constexpr Index some = 32;  // rows that a thread takes at a time
}
// [share]
Tensor share_heads(const Tensor& x, Index n_groups, Index n_heads) {
    const Index d = x.dim(2) / n_groups;
    Tensor y(x.shape().with(2, n_heads * d));
    parallel_ranges(rows(x.shape()), some, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r)
            for (Index h = 0; h < n_heads; ++h)
                matrix(y).row(r).segment(h * d, d) =
                    matrix(x).row(r).segment(h * n_groups / n_heads * d, d);
    });
    return y;
}
// [share: backward]
Tensor share_heads_backward(const Tensor& dy, Index n_groups, Index n_heads) {
    const Index d = dy.dim(2) / n_heads;
    Tensor dx(dy.shape().with(2, n_groups * d));
    parallel_ranges(rows(dy.shape()), some, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            auto row = matrix(dx).row(r);
            row.setZero();
            for (Index h = 0; h < n_heads; ++h)
                row.segment(h * n_groups / n_heads * d, d) += matrix(dy).row(r).segment(h * d, d);
        }
    });
    return dx;
}

}  // namespace abh::fast
