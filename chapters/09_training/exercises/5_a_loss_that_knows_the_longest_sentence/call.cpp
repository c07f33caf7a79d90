#include <cmath>
#include <functional>

#include "judge/answer/serve.hpp"
#include "lib/eigen.hpp"

namespace abh::mine {
using Loss = std::function<double(const Tensor& logits, const Ids& targets)>;
double mean_loss(const Tensor& logits, const Ids& targets);
bool accepts(const Loss& loss);
}  // namespace abh::mine

using namespace abh;

namespace {

bool accepts(const std::string& what) {
    const mine::Loss loss = [&](const Tensor& logits, const Ids& targets) {
        if (what == "own") return mine::mean_loss(logits, targets);
        double sum = 0, of_sentences = 0, counted = 0;
        const Index length = targets.dim(1);
        for (Index b = 0; b < targets.dim(0); ++b) {
            double in_sentence = 0, words = 0;
            for (Index t = 0; t < length; ++t) {
                const std::int32_t target = targets(b, t);
                if (target == 0 && what != "pads count like words") continue;
                const auto z = matrix(logits).row(b * length + t);
                const Real largest = z.maxCoeff();
                in_sentence += largest + std::log((z.array() - largest).exp().sum()) - z(target);
                words += 1;
            }
            sum += in_sentence;
            counted += words;
            of_sentences += words > 0 ? in_sentence / words : 0;
        }
        const double sentences = static_cast<double>(targets.dim(0));
        if (what == "divided by all places") return sum / static_cast<double>(targets.size());
        if (what == "the mean of the sentences' means") return of_sentences / sentences;
        if (what == "the sum, not divided") return sum;
        if (what == "the sum divided by the sentences") return sum / sentences;
        if (what == "the smallest loss of all") return 0.0;
        return sum / counted;  // "right", or with pads that count
    };
    return mine::accepts(loss);
}

}  // namespace

int main() {
    return judge::serve(
        {{"mean_loss", judge::function(mine::mean_loss)}, {"accepts", judge::function(accepts)}});
}
