#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor shifted(const Tensor& codes, Index delta);
bool accepts(const std::function<Tensor(const Tensor& codes, Index delta)>& f);
}  // namespace abh::mine

namespace {

using namespace abh;

/// How a function differs from the right one.
struct Kind {
    bool halves = false;             ///< turns columns i and d_model/2 + i, not 2i and 2i + 1
    bool counts_columns = false;     ///< in the exponent, not pairs
    Index direction = 1, least = 0;  ///< of the turn; what replaces delta, unless either is 0
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

/// Whether the reader's test accepts a function.
bool accepts(const std::string& which) {
    const std::map<std::string, Kind> kinds{{"right", {}},
                                            {"both", {.halves = true, .counts_columns = true}},
                                            {"halves", {.halves = true}},
                                            {"columns", {.counts_columns = true}},
                                            {"backward", {.direction = -1}},
                                            {"one step", {.least = 1}}};
    const bool own = which == "own";
    if (!own && !kinds.contains(which)) throw std::invalid_argument("accepts: no such function");
    return mine::accepts([&](const Tensor& codes, Index delta) {
        return own ? mine::shifted(codes, delta) : turned(codes, delta, kinds.at(which));
    });
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"shifted", function(abh::mine::shifted)}, {"accepts", function(accepts)}});
}
