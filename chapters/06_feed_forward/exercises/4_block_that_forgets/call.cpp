#include <functional>
#include <map>
#include <string>

#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
using BlockBackward = std::function<Tensor(const Tensor&, AddNorm&, FeedForward&,
                                           const AddNorm::Cache&, const FeedForward::Cache&)>;
Tensor block_backward(const Tensor& dy, AddNorm& add_norm, FeedForward& ff,
                      const AddNorm::Cache& around, const FeedForward::Cache& inside);
bool accepts(const BlockBackward& f);
}  // namespace abh::mine

namespace {

using namespace abh;

/// dx of a block.
Tensor block(const Tensor& dy, const Tensor& x, const Tensor& w_1, const Tensor& b_1,
             const Tensor& w_2, const Tensor& b_2, const Tensor& gamma, bool pre) {
    Random random(1);
    FeedForward ff(w_1.dim(1), w_1.dim(0), true, random);
    ff.first.weight.value = w_1;
    ff.first.bias.value = b_1;
    ff.second.weight.value = w_2;
    ff.second.bias.value = b_2;
    AddNorm add_norm(x.dim(-1), {.placement = pre ? NormPlacement::pre : NormPlacement::post},
                     random);
    add_norm.norm.gamma.value = gamma;
    AddNorm::Cache around;
    FeedForward::Cache inside;
    add_norm.after(x, ff.forward(add_norm.before(x, &around), &inside), &around);
    return mine::block_backward(dy, add_norm, ff, around, inside);
}

/// Right only for post-norm.
Tensor without_norm(const Tensor& dy, AddNorm& add_norm, FeedForward& ff,
                    const AddNorm::Cache& around, const FeedForward::Cache& inside) {
    const auto [dx, df] = add_norm.after_backward(dy, around);
    return dx + ff.backward(df, inside);
}

/// Whether the reader's test accepts this function; `with` scales the two gradients that add.
bool accepts(const std::string& which) {
    const auto with = [](Real residual, Real sublayer) {
        return [=](const Tensor& dy, AddNorm& add_norm, FeedForward& ff,
                   const AddNorm::Cache& around, const FeedForward::Cache& inside) {
            const auto [dx, df] = add_norm.after_backward(dy, around);
            Tensor along = dx.clone();
            Tensor through = add_norm.before_backward(ff.backward(df, inside), around).clone();
            along *= residual;
            through *= sublayer;
            return along + through;
        };
    };
    const std::map<std::string, mine::BlockBackward> functions{
        {"own", mine::block_backward},  {"right", with(1, 1)}, {"as it was", with(0, 1)},
        {"residual alone", with(1, 0)}, {"twice", with(1, 2)}, {"subtracted", with(1, -1)},
        {"no norm", without_norm}};
    const mine::BlockBackward& f = functions.at(which);
    return mine::accepts(
        [&](const Tensor& dy, AddNorm& add_norm, FeedForward& ff, const AddNorm::Cache& around,
            const FeedForward::Cache& inside) { return f(dy, add_norm, ff, around, inside); });
}

}  // namespace

int main() {
    return judge::serve(
        {{"block_backward", judge::function(block)}, {"accepts", judge::function(accepts)}});
}
