#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "judge/answer/serve.hpp"

namespace abh::mine {
using Weights = std::function<Tensor(const Tensor&, const Tensor&, const Mask&, Real, Real)>;
Tensor masked_weights(const Tensor& q, const Tensor& k, const Mask& hidden, Real scale, Real fill);
bool accepts(const Weights& f);
}  // namespace abh::mine

namespace {

using namespace abh;

/// How a function differs from the right one.
struct Way {
    bool fill_first = false;      ///< the fill is scaled with the scores
    bool scaled = true;           ///< the scores are scaled
    bool maximum = true;          ///< the maximum is subtracted
    bool zeroed = false;          ///< hidden weights become 0 after the softmax
    bool hides_the_rest = false;  ///< a 1 means keep
    bool one_mask = false;        ///< uses the first sentence's mask for all
};

/// Masked weights, computed by loops.
mine::Weights weights(Way way) {
    return [way](const Tensor& q, const Tensor& k, const Mask& hidden, Real scale, Real fill) {
        const Real c = way.scaled ? scale : 1, hidden_score = way.fill_first ? fill * scale : fill;
        Tensor w({q.dim(0), q.dim(1), q.dim(2), k.dim(2)});
        for (Index b = 0; b < w.dim(0); ++b)
            for (Index h = 0; h < w.dim(1); ++h)
                for (Index i = 0; i < w.dim(2); ++i) {
                    const auto hides = [&](Index j) {
                        return (hidden(way.one_mask ? 0 : b, j) != 0) != way.hides_the_rest;
                    };
                    Real* const row = &w(b, h, i, 0);
                    for (Index j = 0; j < w.dim(3); ++j) {
                        row[j] = 0;
                        for (Index a = 0; a < q.dim(3); ++a)
                            row[j] += c * q(b, h, i, a) * k(b, h, j, a);
                        if (hides(j)) row[j] = hidden_score;
                    }
                    Real largest = way.maximum ? row[0] : 0, sum = 0;
                    for (Index j = 0; j < w.dim(3) && way.maximum; ++j)
                        largest = std::max(largest, row[j]);
                    for (Index j = 0; j < w.dim(3); ++j) sum += row[j] = std::exp(row[j] - largest);
                    for (Index j = 0; j < w.dim(3); ++j)
                        row[j] = way.zeroed && hides(j) ? 0 : row[j] / sum;
                }
        return w;
    };
}

/// Whether the reader's test accepts a function.
bool accepts(const std::string& which) {
    const std::map<std::string, mine::Weights> functions{
        {"own", mine::masked_weights},
        {"right", weights({})},
        {"as it was", weights({.fill_first = true})},
        {"no scale", weights({.scaled = false})},
        {"no maximum", weights({.maximum = false})},
        {"zeroed", weights({.zeroed = true})},
        {"1 keeps", weights({.hides_the_rest = true})},
        {"one mask", weights({.one_mask = true})}};
    const mine::Weights& f = functions.at(which);
    return mine::accepts([&](const Tensor& q, const Tensor& k, const Mask& hidden, Real scale,
                             Real fill) { return f(q, k, hidden, scale, fill); });
}

}  // namespace

int main() {
    return judge::serve({{"masked_weights", judge::function(mine::masked_weights)},
                         {"accepts", judge::function(accepts)}});
}
