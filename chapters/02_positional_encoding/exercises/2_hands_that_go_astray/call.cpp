#include <cmath>

#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "judge/serve.hpp"

namespace abh::mine {
Tensor shifted(const Tensor& codes, Index delta);
bool accepts(const std::function<Tensor(const Tensor& codes, Index delta)>& f);
}  // namespace abh::mine

namespace {

using namespace abh;

struct Kind {
    bool halves = false;             ///< columns i and d_model/2 + i, not 2i and 2i + 1
    bool counts_columns = false;     ///< the exponent
    Index direction = 1, least = 0;  ///< of the turn; what delta is taken for, if not 0
};

Tensor turned(const Tensor& codes, Index delta, const Kind& kind) {
    const Index d_model = codes.dim(1);
    Tensor y(codes.shape());
    for (Index t = 0; t < codes.dim(0); ++t)
        for (Index i = 0; i < d_model / 2; ++i) {
            const Index a = kind.halves ? i : 2 * i, b = kind.halves ? d_model / 2 + i : 2 * i + 1;
            const double frequency = sinusoid_frequency(kind.counts_columns ? 2 * i : i, d_model);
            const Index by = kind.least && delta != 0 ? kind.least : delta;
            const auto angle =
                static_cast<Real>(static_cast<double>(kind.direction * by) * frequency);
            const Real s = std::sin(angle), c = std::cos(angle);
            y(t, a) = c * codes(t, a) + s * codes(t, b);
            y(t, b) = c * codes(t, b) - s * codes(t, a);
        }
    return y;
}

bool accepts(const std::string& which) {
    const auto with = [](const Kind& kind) {
        return mine::accepts(
            [kind](const Tensor& codes, Index delta) { return turned(codes, delta, kind); });
    };
    if (which == "own") return mine::accepts(mine::shifted);
    if (which == "both") return with({.halves = true, .counts_columns = true});
    if (which == "halves") return with({.halves = true});
    if (which == "columns") return with({.counts_columns = true});
    if (which == "backward") return with({.direction = -1});
    if (which == "one step") return with({.least = 1});
    throw std::invalid_argument("no such function");
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"shifted", function(abh::mine::shifted)}, {"accepts", function(accepts)}});
}
