#include "chapters/09_training/loss/loss.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
double z_cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options,
                       Real lambda);
Tensor z_cross_entropy_backward(const Tensor& logits, const Ids& targets,
                                const CrossEntropyOptions& options, Real lambda);
}  // namespace abh::mine

using namespace abh;

namespace {

double loss(const Tensor& logits, const Ids& targets, std::int32_t ignore, Real smoothing,
            Real lambda) {
    return mine::z_cross_entropy(logits, targets, {ignore, smoothing}, lambda);
}

Tensor gradient(const Tensor& logits, const Ids& targets, std::int32_t ignore, Real smoothing,
                Real lambda) {
    return mine::z_cross_entropy_backward(logits, targets, {ignore, smoothing}, lambda);
}

}  // namespace

int main() {
    return judge::serve({{"z_cross_entropy", judge::function(loss)},
                         {"z_cross_entropy_backward", judge::function(gradient)}});
}
