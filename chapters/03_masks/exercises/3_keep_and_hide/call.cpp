#include <functional>
#include <map>
#include <string>

#include "judge/answer/serve.hpp"

namespace abh::mine {
Mask decoder_mask(const Mask& keep);
bool accepts(const std::function<Mask(const Mask&)>& f);
}  // namespace abh::mine

namespace {

using namespace abh;

/// A function that returns a mask, 1 where `hides(keep, b, i, j)`.
template <class Hides>
std::function<Mask(const Mask&)> where(Hides hides) {
    return [hides](const Mask& keep) {
        Mask mask({keep.dim(0), keep.dim(1), keep.dim(1)});
        for (Index b = 0; b < mask.dim(0); ++b)
            for (Index i = 0; i < mask.dim(1); ++i)
                for (Index j = 0; j < mask.dim(2); ++j) mask(b, i, j) = hides(keep, b, i, j);
        return mask;
    };
}

/// Whether the reader's test accepts a function.
bool accepts(const std::string& which) {
    using M = const Mask&;
    const std::map<std::string, std::function<Mask(const Mask&)>> functions{
        {"own", mine::decoder_mask},
        {"right", where([](M keep, Index b, Index i, Index j) { return j > i || !keep(b, j); })},
        {"as it was",
         where([](M keep, Index b, Index i, Index j) { return !(keep(b, j) || j <= i); })},
        {"1 keeps", where([](M keep, Index b, Index i, Index j) { return keep(b, j) && j <= i; })},
        {"pads are seen", where([](M, Index, Index i, Index j) { return j > i; })},
        {"the future is seen", where([](M keep, Index b, Index, Index j) { return !keep(b, j); })},
        {"queries", where([](M keep, Index b, Index i, Index j) { return j > i || !keep(b, i); })},
        {"both", where([](M keep, Index b, Index i, Index j) {
             return j > i || !keep(b, i) || !keep(b, j);
         })},
        {"a leak",
         where([](M keep, Index b, Index i, Index j) { return j > i + 1 || !keep(b, j); })}};
    const auto& f = functions.at(which);
    return mine::accepts([&](const Mask& keep) { return f(keep); });
}

}  // namespace

int main() {
    return judge::serve({{"decoder_mask", judge::function(mine::decoder_mask)},
                         {"accepts", judge::function(accepts)}});
}
