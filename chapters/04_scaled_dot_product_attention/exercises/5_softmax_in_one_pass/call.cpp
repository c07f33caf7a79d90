#include <limits>
#include <vector>

#include "judge/answer/serve.hpp"

namespace abh::mine {
void take(Real& m, Real& l, Real z);
void join(Real& m, Real& l, Real m_2, Real l_2);
}  // namespace abh::mine

namespace {

using namespace abh;

/// m and l after each score of a row.
std::vector<Tensor> take_all(const Tensor& z) {
    Tensor largest(z.shape()), sum(z.shape());
    Real m = std::numeric_limits<Real>::lowest(), l = 0;
    for (Index i = 0; i < z.size(); ++i) {
        mine::take(m, l, z(i));
        largest(i) = m;
        sum(i) = l;
    }
    return {largest, sum};
}

/// m and l of two parts of a row together, from those of each.
std::vector<Tensor> join(Real m, Real l, Real m_2, Real l_2) {
    mine::join(m, l, m_2, l_2);
    return {Tensor({1}, {m}), Tensor({1}, {l})};
}

}  // namespace

int main() {
    return judge::serve({{"take", judge::function(take_all)}, {"join", judge::function(join)}});
}
