#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [add]
void add(Tensor& sum, const Tensor& a, const Tensor& b) {
    constexpr Index grain = 1 << 15;  // enough elements to be worth waking a thread
    parallel_ranges(sum.size(), grain, [&](Index begin, Index end) {
        const Index n = end - begin;
        vector(sum).segment(begin, n) = vector(a).segment(begin, n) + vector(b).segment(begin, n);
    });
}
// [column sums]
void add_column_sums(Tensor& sums, const Tensor& x) {
    parallel_ranges(sums.size(), 64, [&](Index begin, Index end) {  // each column in a fixed order
        const Index n = end - begin;
        Eigen::Array<Real, 64, 1> total = Eigen::Array<Real, 64, 1>::Zero();
        for (Index r = 0; r < rows(x.shape()); ++r)
            total.head(n) += matrix(x).row(r).segment(begin, n).transpose().array();
        vector(sums).segment(begin, n).array() += total.head(n);
    });
}

}  // namespace abh::fast
