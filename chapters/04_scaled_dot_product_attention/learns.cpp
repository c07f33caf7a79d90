#include "chapters/04_scaled_dot_product_attention/learns.hpp"

#include <cmath>

#include "lib/eigen.hpp"

namespace abh::example {
// [pairs]
const std::vector<std::string> chinese_words{"P",  "我", "有", "一", "个", "好",
                                             "朋", "友", "零", "女", "男"};
const std::vector<std::string> english_words{"P",    "I",    "have", "a", "good", "friend",
                                             "zero", "girl", "boy",  "S", "E",    "."};
const Ids source({3, 8}, {1, 2, 3, 4, 5,  6, 7, 0,  // 我 有 一 个 好 朋 友
                          1, 2, 8, 4, 9,  6, 7, 0,  // 我 有 零 个 女 朋 友
                          1, 2, 3, 4, 10, 6, 7, 0});
const Ids said({3, 7}, {9, 1, 2, 3, 4, 5, 11,  // S I have a good friend .
                        9, 1, 2, 6, 7, 5, 11,  // S I have zero girl friend .
                        9, 1, 2, 3, 8, 5, 11});
const Ids next({3, 7}, {1, 2, 3, 4, 5, 11, 10,  // I have a good friend . E
                        1, 2, 6, 7, 5, 11, 10,  // I have zero girl friend . E
                        1, 2, 3, 8, 5, 11, 10});
// [around]
TinyTranslator::TinyTranslator(Look how, Random& random)
    : look(how),
      english(12, d, {.deviation = Real(0.1)}, random),
      chinese(11, d, {.deviation = Real(0.1)}, random),
      last(d, 12, true, random) {}

namespace {
Tensor one_head(const Tensor& x) {
    return x.reshape({x.dim(0), 1, x.dim(1), x.dim(2)});
}
Tensor no_head(const Tensor& x) {
    return x.reshape({x.dim(0), x.dim(2), x.dim(3)});
}
}  // namespace

Tensor TinyTranslator::forward(const Mask& mask) {
    const Real scale = look == Look::at_all_alike ? Real(1e-30) : 1 / std::sqrt(Real(d));
    // [forward]
    const Tensor q = one_head(english.forward(said, &of_english));    // [3, 1, 7, d]: a word asks
    const Tensor k = one_head(chinese.forward(source, &of_chinese));  // [3, 1, 8, d]: 8 answer
    Tensor h = attention(q, k, k, mask, {.scale = scale}, &of_attention);
    h = look == Look::at_nothing ? q : q + h;            // the word itself, and what it found
    return softmax(last.forward(no_head(h), &of_last));  // [3, 7, 12]: what comes next
    // [around the step]
}
void TinyTranslator::step(const Tensor& p, Real rate) {
    // [step]
    Tensor dlogits = p.clone();  // p minus one-hot
    for (Index b = 0; b < next.dim(0); ++b)
        for (Index t = 0; t < next.dim(1); ++t) dlogits(b, t, next(b, t)) -= 1;
    dlogits *= 1 / static_cast<Real>(next.size());
    const Tensor dh = one_head(last.backward(dlogits, of_last));
    const AttentionGradients back = attention_backward(dh, of_attention);
    english.backward(no_head(dh + back.dq), of_english);       // added to the result, and it asked
    chinese.backward(no_head(back.dk + back.dv), of_chinese);  // key and value
    for (Parameter* w : {&english.table, &chinese.table, &last.weight, &last.bias}) {
        matrix(w->value) -= rate * matrix(w->grad());
        w->zero_grad();
    }
    // [after the step]
}

}  // namespace abh::example
