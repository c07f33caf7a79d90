#include "judge/answer/cases.hpp"

#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add_block(Cases& cases, const Shape& shape, Index d_ff, bool pre) {
    Random random(static_cast<std::uint64_t>(cases.between(1, 1000000)));
    const Index d_model = shape[-1];
    FeedForward ff(d_model, d_ff, true, random);
    AddNorm add_norm(d_model, {.placement = pre ? NormPlacement::pre : NormPlacement::post},
                     random);
    add_norm.norm.gamma.value = cases.normal({d_model});
    const Tensor x = cases.normal(shape), dy = cases.normal(shape);

    AddNorm::Cache around;
    FeedForward::Cache inside;
    const auto forward = [&] {
        return add_norm.after(x, ff.forward(add_norm.before(x, &around), &inside), &around);
    };
    forward();
    const auto [residual, df] = add_norm.after_backward(dy, around);
    const Tensor dh = ff.backward(df, inside);
    const Tensor through = add_norm.before_backward(dh, around), dx = residual + through;
    require_close(dx, differences(forward, x, dy), "dx", 1e-5);
    cases.add(
        {.criterion = pre ? "the repair, pre-norm" : "the repair, post-norm",
         .call = "block_backward",
         .arguments =
             values(dy, x, ff.first.weight.value, ff.first.bias.value, ff.second.weight.value,
                    ff.second.bias.value, add_norm.norm.gamma.value, pre),
         .results = values(dx),
         .about = fmt::format("x {}, d_ff {}, {}", shape, d_ff, pre ? "pre-norm" : "post-norm"),
         .names = {"dy", "x", "W_1", "b_1", "W_2", "b_2", "gamma", "pre", "dx"},
         .mistakes = {
             {"this is what the original code gives; its mistake is still there", values(through)},
             {"the gradient through the sublayer is lost", values(residual)},
             {"the norm before the sublayer is left out", values(residual + dh)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const bool pre : {true, false}) {
        add_block(cases, {1, 2, 4}, 7, pre);
        add_block(cases, {2, 3, 5}, 3, pre);
    }
    const char* original = "your test: the code as it was";
    const char* other = "your test: the other half";
    for (const char* criterion : {original, other}) {
        cases.add_test(criterion, "own", "your own block_backward");
        cases.add_test(criterion, "right", "a correct function that is not yours");
    }
    cases.add_test(original, "as it was", "the original block_backward");
    cases.add_test(other, "residual alone",
                   "a function that loses the gradient through the sublayer");
    cases.add_test(other, "twice", "a function that adds the gradient through the sublayer twice");
    cases.add_test(other, "subtracted",
                   "a function that subtracts the gradient through the sublayer");
    cases.add_test(other, "no norm",
                   "a function that leaves out the norm before the sublayer of pre-norm");
}
