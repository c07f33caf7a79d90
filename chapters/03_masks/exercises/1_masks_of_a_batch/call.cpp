#include "judge/answer/serve.hpp"

namespace abh::mine {
Mask cross_mask(const Ids& target, const Ids& source, std::int32_t pad);
Mask decoder_mask(const Ids& target, std::int32_t pad);
}  // namespace abh::mine

int main() {
    using namespace abh;
    return judge::serve({{"cross_mask", judge::function(mine::cross_mask)},
                         {"decoder_mask", judge::function(mine::decoder_mask)}});
}
