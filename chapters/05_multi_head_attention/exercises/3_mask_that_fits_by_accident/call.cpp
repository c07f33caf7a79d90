#include <functional>
#include <map>
#include <string>

#include "judge/answer/serve.hpp"

namespace abh::mine {
Mask with_heads(const Mask& any);
std::string outcome(Index n_sentences, Index n_heads);
bool accepts(const std::function<Mask(const Mask&)>& f);
}  // namespace abh::mine

namespace {

using namespace abh;

Mask right(const Mask& any) {
    return any.reshape({any.dim(0), 1, any.dim(1), any.dim(2)});
}

Mask as_it_was(const Mask& any) {
    return any.reshape({1, any.dim(0), any.dim(1), any.dim(2)});
}

/// Gives all sentences the mask of the first.
Mask first_for_all(const Mask& any) {
    Mask mask({any.dim(0), 1, any.dim(1), any.dim(2)});
    for (Index b = 0; b < any.dim(0); ++b)
        for (Index i = 0; i < any.dim(1); ++i)
            for (Index j = 0; j < any.dim(2); ++j) mask(b, 0, i, j) = any(0, i, j);
    return mask;
}

/// Takes a 1 to mean that a key is kept.
Mask inverted(const Mask& any) {
    Mask mask({any.dim(0), 1, any.dim(1), any.dim(2)});
    for (Index i = 0; i < any.size(); ++i) mask.data()[i] = any.data()[i] == 0;
    return mask;
}

/// Whether the reader's test accepts a function.
bool accepts(const std::string& which) {
    const std::map<std::string, std::function<Mask(const Mask&)>> functions{
        {"own", mine::with_heads},
        {"right", right},
        {"as it was", as_it_was},
        {"first for all", first_for_all},
        {"inverted", inverted}};
    const auto& f = functions.at(which);
    return mine::accepts([&](const Mask& any) { return f(any); });
}

}  // namespace

int main() {
    return judge::serve({{"with_heads", judge::function(mine::with_heads)},
                         {"outcome", judge::function(mine::outcome)},
                         {"accepts", judge::function(accepts)}});
}
