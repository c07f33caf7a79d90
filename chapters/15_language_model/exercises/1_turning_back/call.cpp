#include "chapters/15_language_model/rotary.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor rotate_backward(const Tensor& dy, Index n_heads, const RotaryOptions& options, Index first,
                       const Packing& packing);
}  // namespace abh::mine

using namespace abh;

namespace {

/// @param begins  the packed sentences' first rows, and the number of rows; `[0]` if none are
Tensor turned_back(const Tensor& dy, Index n_heads, Real base, bool halves, Index first,
                   const Ids& begins) {
    const RotaryOptions options{base, halves ? Pairing::halves : Pairing::neighbors};
    Packing packing;
    if (begins.size() > 0) packing = {begins, dy.dim(1)};
    return mine::rotate_backward(dy, n_heads, options, first, packing);
}

}  // namespace

int main() {
    return judge::serve({{"rotate_backward", judge::function(turned_back)}});
}
