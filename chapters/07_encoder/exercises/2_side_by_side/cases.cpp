#include "judge/answer/cases.hpp"

#include "model.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const char* which, const Tensor& x, const Ids& words, Index n_heads,
         Index d_ff, double size = 0.7) {
    const Index seed = cases.between(1, 1'000'000);
    const Tensor dy = cases.normal(x.shape());
    EncoderLayer layer = layer_of(x.dim(2), n_heads, d_ff, size, seed);
    const AttentionMask mask = hide_pads(words);
    const LayerNorm& norm = layer.norm1.norm;
    LayerNorm::Cache norm_cache;
    MultiHeadAttention::Cache attn_cache;
    FeedForward::Cache ff_cache;

    const auto forward = [&] {
        const Tensor h = norm.forward(x);
        return x + layer.self_attn.forward(h, h, h, mask) + layer.ff.forward(h);
    };
    const Tensor h = norm.forward(x, &norm_cache);
    const Tensor f1 = layer.self_attn.forward(h, h, h, mask, &attn_cache);
    layer.ff.forward(h, &ff_cache);
    const auto [dq, dk, dv] = layer.self_attn.backward(dy, attn_cache);
    const Tensor dff = layer.ff.backward(dy, ff_cache), dattn = dq + dk + dv;
    LayerNorm other = LayerNorm(x.dim(2));  // its gradients are not read
    other.gamma.value = norm.gamma.value;
    const auto back = [&](const Tensor& dh) { return other.backward(dh, norm_cache); };
    const Tensor dx = dy + layer.norm1.norm.backward(dattn + dff, norm_cache);
    require_close(dx, differences(forward, x, dy), "dx");

    const std::string about =
        fmt::format("x {}, {} heads, d_ff {}, pads hidden", x.shape(), n_heads, d_ff);
    const Values given = values(x, dy, words, n_heads, d_ff, size, seed);
    if (which == std::string("forward"))
        cases.add(
            {.criterion = "forward",
             .call = "forward",
             .arguments = values(x, words, n_heads, d_ff, size, seed),
             .results = values(forward()),
             .about = about,
             .names = {"x", "words", "n_heads", "d_ff", "deviation", "seed", "y"},
             .mistakes = {
                 {"feed-forward reads the sum, so the two sublayers come one after the other",
                  values(x + f1 + layer.ff.forward(x + f1))},
                 {"the residual connection is missing", values(f1 + layer.ff.forward(h))},
                 {"the residual connection adds x', but should add x",
                  values(h + f1 + layer.ff.forward(h))},
                 {"feed-forward reads x, but should read x'", values(x + f1 + layer.ff.forward(x))},
                 {"the mask has no influence; is it passed to attention?",
                  values(x + layer.self_attn.forward(h, h, h, {}) + layer.ff.forward(h))},
                 {"both sublayers read x, but should read x', which the norm returns",
                  values(x + layer.self_attn.forward(x, x, x, mask) + layer.ff.forward(x))}}});
    if (which == std::string("dx"))
        cases.add(
            {.criterion = "the gradient of x",
             .call = "dx",
             .arguments = given,
             .results = values(dx),
             .about = about,
             .names = {"x", "dy", "words", "n_heads", "d_ff", "deviation", "seed", "dx"},
             .mistakes = {
                 {"the residual connection's own share, dy, is missing", values(back(dattn + dff))},
                 {"the gradient from feed-forward is missing", values(dy + back(dattn))},
                 {"the gradient from attention is missing", values(dy + back(dff))},
                 {"of attention's three gradients, only the value's is included",
                  values(dy + back(dv + dff))},
                 {"of attention's three gradients, only the query's is included",
                  values(dy + back(dq + dff))},
                 {"the sum has not gone back through the norm", values(dy + dattn + dff)},
                 {"dy goes through the norm, too, but the residual connection leads past it",
                  values(back(dy + dattn + dff))}}});
    if (which == std::string("parameters")) {
        Case c{.criterion = "the gradients of the parameters",
               .call = "dparameters",
               .arguments = given,
               .results = {},
               .about = about,
               .names = {"x", "dy", "words", "n_heads", "d_ff", "deviation", "seed"}};
        for (const Parameters& list :
             {parameters_of(layer.self_attn, "self_attn"), parameters_of(layer.ff, "ff"),
              parameters_of(layer.norm1.norm, "norm1")})
            for (const NamedParameter& p : list) {
                const Tensor gradient = p.parameter->grad().clone();
                require_close(gradient, differences(forward, p.parameter->value, dy), "parameter");
                c.results.push_back(value(gradient));
                c.names.push_back("the gradient of " + p.name);
            }
        cases.add(c);
    }
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Ids words({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
    for (const char* which : {"forward", "dx"}) {
        add(cases, which, cases.normal({2, 5, 6}), words, 3, 7);
        add(cases, which, cases.normal({1, 1, 3}), Ids({1, 1}, {1}), 1, 2);
    }
    add(cases, "dx", cases.normal({1, 3, 4}), Ids({1, 3}, {1, 2, 3}), 2, 5, 0);
    add(cases, "parameters", cases.normal({2, 5, 6}), words, 3, 7);
}
