#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "judge/serve.hpp"

namespace abh::mine {
decltype(softmax) softmax;
}

int main() {
    using namespace abh::judge;
    return serve({{"softmax", function(abh::mine::softmax)}});
}
