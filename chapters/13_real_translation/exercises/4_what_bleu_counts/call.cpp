#include "judge/answer/serve.hpp"

namespace abh::mine {
Real bleu(const Ids& hypotheses, const Ids& references);
}

int main() {
    using namespace abh::judge;
    return serve({{"bleu", function(abh::mine::bleu)}});
}
