#include "judge/answer/cases.hpp"

#include <cmath>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add_weights(Cases& cases, const Tensor& q, const Tensor& k, const Mask& hidden, Real scale,
                 Real fill) {
    const Mask mask = hidden.reshape({hidden.dim(0), 1, 1, hidden.dim(1)});
    const auto with = [&](const AttentionOptions& options) {
        return values(attention_weights(q, k, mask, options));
    };
    cases.add(
        {.criterion = "the repair",
         .call = "masked_weights",
         .arguments = values(q, k, hidden, scale, fill),
         .results = with({.scale = scale, .fill = fill}),
         .about = fmt::format("q {}, k {}, scale {:.4g}, fill {:.4g}", q.shape(), k.shape(), scale,
                              fill),
         .names = {"q", "k", "hidden", "scale", "fill", "w"},
         .mistakes = {
             {"this is what the original code gives; its mistake is still there",
              with({.scale = scale, .fill = fill, .fill_place = FillPlace::before_scale})},
             {"the fill is divided by the scale", with({.scale = scale, .fill = fill / scale})},
             {"the scores are not scaled", with({.scale = 1, .fill = fill})}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add_weights(cases, Tensor::zeros({1, 1, 1, 2}), Tensor::zeros({1, 1, 3, 2}),
                Mask({1, 3}, {0, 0, 1}), Real(0.25), std::log(Real(0.5)));
    add_weights(cases, cases.normal({2, 3, 4, 5}), cases.normal({2, 3, 5, 5}),
                Mask({2, 5}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 0}), Real(1) / 16, -20);
    add_weights(cases, cases.normal({1, 2, 3, 4}), cases.normal({1, 2, 4, 4}),
                Mask({1, 4}, {0, 1, 0, 1}), cases.uniform({1}, 2, 5)(0), -1);

    const char* original = "your test: the code as it was";
    const char* other = "your test: other mistakes";
    for (const char* criterion : {original, other}) {
        cases.add_test(criterion, "own", "your own masked_weights");
        cases.add_test(criterion, "right", "a correct function that is not yours");
    }
    cases.add_test(original, "as it was", "masked_weights as it was");
    cases.add_test(other, "no scale", "a function that forgets the scale");
    cases.add_test(other, "no maximum", "a function whose softmax overflows at large scores");
    cases.add_test(other, "zeroed", "a function that sets hidden weights to 0 after the softmax");
    cases.add_test(other, "1 keeps", "a function that hides the keys that should be seen");
    cases.add_test(other, "one mask", "a function that uses the first sentence's mask for all");
}
