#include "judge/answer/cases.hpp"

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// What a backward pass may leave out or get wrong.
struct Slips {
    bool key = true, value = true, all_layers = true, residual = true, at_dy = false, normed = true;
};

struct Stack {
    std::vector<MultiHeadAttention> layers;
    LayerNorm norm;
    AttentionMask mask;
    LayerNorm::Cache norm_cache = {};
    std::vector<MultiHeadAttention::Cache> caches = {};

    Tensor forward(const Tensor& x, const Tensor& enc) {
        caches.assign(layers.size(), {});
        const Tensor memory = norm.forward(enc, &norm_cache);
        Tensor y = x;
        for (std::size_t i = 0; i < layers.size(); ++i)
            y = y + layers[i].forward(y, memory, memory, mask, &caches[i]);
        return y;
    }

    /// dx, and the gradient of the encoder's result.
    std::pair<Tensor, Tensor> backward(const Tensor& dy, const Slips& s) {
        Tensor dx = dy, dmemory = Tensor::zeros(norm_cache.normalized.shape());
        for (std::size_t i = layers.size(); i-- > 0;) {
            const auto [dquery, dkey, dvalue] = layers[i].backward(s.at_dy ? dy : dx, caches[i]);
            if (!s.all_layers) dmemory = Tensor::zeros(dmemory.shape());
            if (s.key) dmemory = dmemory + dkey;
            if (s.value) dmemory = dmemory + dvalue;
            dx = s.residual ? dx + dquery : dquery;
        }
        norm.gamma.zero_grad(), norm.beta.zero_grad();
        const Tensor denc = norm.backward(dmemory, norm_cache);
        return {dx, s.normed ? denc : dmemory};
    }
};

void add(Cases& cases, const std::string& which, const Ids& src, Index length, Index d_model,
         Index n_layers, Index n_heads) {
    const Index seed = cases.between(1, 1'000'000);
    const Tensor x = cases.normal({src.dim(0), length, d_model}), dy = cases.normal(x.shape()),
                 enc = cases.normal({src.dim(0), src.dim(1), d_model}),
                 gamma = cases.normal({d_model});
    Random random(static_cast<std::uint64_t>(seed));  // as in call.cpp
    Stack stack{{}, LayerNorm(d_model), hide_pads(src)};
    stack.norm.gamma.value = gamma.clone();
    for (Index i = 0; i < n_layers; ++i)
        stack.layers.emplace_back(MultiHeadOptions{.d_model = d_model, .n_heads = n_heads}, random);
    const auto y = [&] { return stack.forward(x, enc); };
    y();
    const auto [dx, denc] = stack.backward(dy, {});
    const Tensor dgamma = stack.norm.gamma.grad().clone(), dbeta = stack.norm.beta.grad().clone();
    require_close(dx, differences(y, x, dy), "dx");
    require_close(denc, differences(y, enc, dy), "denc");
    require_close(dgamma, differences(y, stack.norm.gamma.value, dy), "dgamma");
    require_close(dbeta, differences(y, stack.norm.beta.value, dy), "dbeta");
    Case c{.criterion = which,
           .call = "",
           .arguments = values(x, enc, dy, src, gamma, n_layers, n_heads, seed),
           .results = {},
           .about = fmt::format("x {}, enc {}, {} layers, {} heads", x.shape(), enc.shape(),
                                n_layers, n_heads),
           .names = {"x", "enc", "dy", "src", "gamma", "n_layers", "n_heads", "seed"}};
    const std::vector<std::pair<const char*, Slips>> slips{
        {"the gradient through memory as key is missing", {.key = false}},
        {"the gradient through memory as value is missing", {.value = false}},
        {"only the layer that is reached last contributes to this, but each layer read memory",
         {.all_layers = false}},
        {"the gradient past a layer, along its residual connection, is missing",
         {.residual = false}},
        {"each layer's attention goes back from dy of the whole stack instead of its own",
         {.at_dy = true}},
        {"this is the gradient before the norm; the norm's backward pass follows the sum",
         {.normed = false}}};
    const auto collect = [&](const auto& pick) {
        for (const auto& [says, slip] : slips)
            c.mistakes.push_back({says, pick(stack.backward(dy, slip))});
    };
    if (which == "one layer") {
        c.call = "both";
        c.results = values(dx, denc);
        c.names.insert(c.names.end(), {"dx", "the gradient of enc"});
        collect([](const auto& d) { return values(d.first, d.second); });
    } else if (which == "the gradient of x") {
        c.call = "dx";
        c.results = values(dx);
        c.names.push_back("dx");
        collect([](const auto& d) { return values(d.first); });
    } else if (which == "the gradients of the norm") {
        c.call = "dnorm";
        c.results = values(dgamma, dbeta);
        c.names.insert(c.names.end(), {"dgamma", "dbeta"});
        collect([&](const auto&) {
            return values(stack.norm.gamma.grad().clone(), stack.norm.beta.grad().clone());
        });
        c.mistakes.push_back(
            {"the norm's gradients are added twice", values(dgamma + dgamma, dbeta + dbeta)});
    } else {
        c.call = "denc";
        c.results = values(denc);
        c.names.push_back("the gradient of enc");
        collect([](const auto& d) { return values(d.second); });
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Ids src({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
    add(cases, "one layer", Ids({1, 2}, {1, 2}), 1, 3, 1, 1);
    add(cases, "one layer", src, 3, 6, 1, 2);
    for (const char* which : {"the gradient of x", "the gradient of the encoder's result",
                              "the gradients of the norm"}) {
        add(cases, which, src, 3, 6, 2, 3);
        add(cases, which, Ids({1, 4}, {1, 2, 3, 4}), 2, 4, 4, 2);
    }
}
