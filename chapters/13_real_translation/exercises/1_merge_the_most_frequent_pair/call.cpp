#include "judge/answer/serve.hpp"

namespace abh::mine {
Ids learn_merges(const Ids& words, const Ids& counts, Index n);
}

int main() {
    return abh::judge::serve({{"learn_merges", abh::judge::function(abh::mine::learn_merges)}});
}
