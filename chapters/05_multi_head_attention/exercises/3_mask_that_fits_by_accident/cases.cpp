#include "judge/answer/cases.hpp"

#include "chapters/03_masks/masks.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add_mask(Cases& cases, const Shape& shape) {
    Mask any(shape);
    const Ids drawn = cases.ids(shape, 2);
    for (Index i = 0; i < any.size(); ++i) any.data()[i] = drawn.data()[i] != 0;
    cases.add({.criterion = "the repair",
               .call = "with_heads",
               .arguments = values(any),
               .results = values(over_heads(any)),
               .about = fmt::format("any {}", shape),
               .names = {"any", "mask"},
               .mistakes = {{"this is what the original code gives; its mistake is still there",
                             values(any.reshape({1, any.dim(0), any.dim(1), any.dim(2)}))}}});
}

/// What attention does with the mask as it was, if neighboring sentences have different masks.
std::string outcome(Cases& cases, Index batch, Index heads) {
    const Tensor q = cases.normal({batch, heads, 2, 3}), k = cases.normal({batch, heads, 2, 3});
    Mask any({batch, 2, 2});
    for (Index i = 0; i < any.size(); ++i) any.data()[i] = i % 2 == (i / 4) % 2;
    try {
        const Tensor w = attention_weights(q, k, any.reshape({1, batch, 2, 2}));
        const bool right = max_difference(w, attention_weights(q, k, over_heads(any))) == 0;
        return right ? "right" : "wrong";
    } catch (const std::invalid_argument&) {
        return "throws";
    }
}

void add_outcome(Cases& cases, Index batch, Index heads) {
    cases.add({.criterion = "what the mistake does",
               .call = "outcome",
               .arguments = values(batch, heads),
               .results = values(outcome(cases, batch, heads)),
               .about = fmt::format(
                   "B = {}, H = {}: a mask [1, {}, Lq, Lk] meets scores [{}, {}, Lq, Lk]", batch,
                   heads, batch, batch, heads),
               .names = {"B", "H", "outcome"}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add_mask(cases, {2, 3, 4});
    add_mask(cases, {3, 1, 5});
    add_mask(cases, {1, 2, 2});
    for (const Index heads : {1, 2, 8}) add_outcome(cases, 1, heads);
    for (const Index n : {Index(2), cases.between(3, 9)}) add_outcome(cases, n, n);
    add_outcome(cases, 2, 1);
    add_outcome(cases, 2, 8);
    add_outcome(cases, 4, 2);
    cases.add_test("your test", "own", "your own with_heads");
    cases.add_test("your test", "right", "a correct function that is not yours");
    cases.add_test("your test", "as it was", "the original with_heads");
    cases.add_test("your test", "first for all",
                   "a function that gives all sentences the mask of the first");
    cases.add_test("your test", "inverted", "a function that takes a 1 to mean that a key is kept");
}
