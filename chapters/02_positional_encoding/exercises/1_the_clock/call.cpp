#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor sinusoid_table(Index max_len, Index d_model);
}

int main() {
    using namespace abh::judge;
    return serve({{"sinusoid_table", function(abh::mine::sinusoid_table)}});
}
