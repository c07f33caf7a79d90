#include "judge/answer/cases.hpp"

#include "model.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

using Cache = DecoderLayer::Cache;

Tensor forward(const DecoderLayer& l, const Tensor& x, const Tensor& memory,
               const AttentionMask& self_mask, const AttentionMask& cross_mask,
               Cache* cache = nullptr) {
    const Tensor h1 = l.norm1.before(x, part(cache, &Cache::norm1));
    const Tensor f1 =
        l.cross_attn.forward(h1, memory, memory, cross_mask, part(cache, &Cache::cross_attn));
    const Tensor x1 = l.norm1.after(x, f1, part(cache, &Cache::norm1));
    const Tensor h2 = l.norm2.before(x1, part(cache, &Cache::norm2));
    const Tensor f2 = l.self_attn.forward(h2, h2, h2, self_mask, part(cache, &Cache::self_attn));
    const Tensor x2 = l.norm2.after(x1, f2, part(cache, &Cache::norm2));
    const Tensor h3 = l.norm3.before(x2, part(cache, &Cache::norm3));
    return l.norm3.after(x2, l.ff.forward(h3, part(cache, &Cache::ff)), part(cache, &Cache::norm3));
}

/// The backward pass; each flag that is false leaves out a gradient: the one past self- or
/// cross-attention, that of memory as key or as value, those of self-attention's key and value.
DecoderLayer::Gradients backward(DecoderLayer l, const Tensor& dy, const Cache& cache,
                                 bool past_self = true, bool past_cross = true, bool as_key = true,
                                 bool as_value = true, bool all_three = true) {
    auto [dx2, df3] = l.norm3.after_backward(dy, cache.norm3);
    dx2 = dx2 + l.norm3.before_backward(l.ff.backward(df3, cache.ff), cache.norm3);
    auto [dx1, df2] = l.norm2.after_backward(dx2, cache.norm2);
    const auto [dq, dk, dv] = l.self_attn.backward(df2, cache.self_attn);
    const Tensor through_self = l.norm2.before_backward(all_three ? dq + dk + dv : dq, cache.norm2);
    dx1 = past_self ? dx1 + through_self : through_self;
    const auto [dx, df1] = l.norm1.after_backward(dx1, cache.norm1);
    const auto [dquery, dkey, dvalue] = l.cross_attn.backward(df1, cache.cross_attn);
    const Tensor through_cross = l.norm1.before_backward(dquery, cache.norm1);
    return {past_cross ? dx + through_cross : through_cross, as_key && as_value ? dkey + dvalue
                                                             : as_key           ? dkey
                                                                                : dvalue};
}

void add(Cases& cases, const std::string& which, const Ids& src, const Ids& tgt, bool pre) {
    const Index d_model = 4, seed = cases.between(1, 1'000'000);
    const Tensor x = cases.normal({tgt.dim(0), tgt.dim(1), d_model}),
                 memory = cases.normal({src.dim(0), src.dim(1), d_model}),
                 dy = cases.normal(x.shape());
    DecoderLayer layer = layer_of(d_model, pre, seed);
    const AttentionMask self_mask = hide_pads(tgt) | hide_future(), cross_mask = hide_pads(src);
    const auto y = [&] { return forward(layer, x, memory, self_mask, cross_mask); };
    Cache cache;
    forward(layer, x, memory, self_mask, cross_mask, &cache);
    const auto [dx, dmemory] = backward(layer, dy, cache);
    Case c{.criterion = which,
           .call = "",
           .arguments = values(x, memory, dy, src, tgt, pre, seed),
           .results = {},
           .about =
               fmt::format("x {}, memory {}, {}", x.shape(), memory.shape(), pre ? "pre" : "post"),
           .names = {"x", "memory", "dy", "src", "tgt", "pre", "seed"}};
    if (which == "forward") {
        c.call = "forward";
        c.arguments = values(x, memory, src, tgt, pre, seed);
        c.results = values(y());
        c.names = {"x", "memory", "src", "tgt", "pre", "seed", "y"};
        c.mistakes = {
            {"this is the chapter's layer, in which self-attention comes first",
             values(layer.forward(x, memory, self_mask, cross_mask))},
            {"self_mask hides nothing", values(forward(layer, x, memory, {}, cross_mask))},
            {"cross_mask hides nothing", values(forward(layer, x, memory, self_mask, {}))}};
    }
    const std::string three =
        "self-attention reads one tensor as query, key and value, so its three gradients add";
    if (which == "the gradient of x") {
        require_close(dx, differences(y, x, dy), "dx");
        c.call = "dx";
        c.results = values(dx);
        c.names.push_back("dx");
        c.mistakes = {
            {"the gradient past self-attention, along its residual connection, is missing",
             values(backward(layer, dy, cache, false).dx)},
            {"the gradient past cross-attention, along its residual connection, is missing",
             values(backward(layer, dy, cache, true, false).dx)},
            {three, values(backward(layer, dy, cache, true, true, true, true, false).dx)}};
    }
    if (which == "the gradient of memory") {
        require_close(dmemory, differences(y, memory, dy), "dmemory");
        c.call = "dmemory";
        c.results = values(dmemory);
        c.names.push_back("dmemory");
        c.mistakes = {
            {"the gradient through memory as value is missing",
             values(backward(layer, dy, cache, true, true, true, false).dmemory)},
            {"the gradient through memory as key is missing",
             values(backward(layer, dy, cache, true, true, false).dmemory)},
            {"the gradient past self-attention, along its residual connection, is missing",
             values(backward(layer, dy, cache, false).dmemory)},
            {three, values(backward(layer, dy, cache, true, true, true, true, false).dmemory)}};
    }
    if (which == "the gradients of the parameters") {
        c.call = "dparameters";
        for (const NamedParameter& p : parameters_of(layer)) {
            const Tensor expected = differences(y, p.parameter->value, dy);
            c.results.push_back(value(expected));
            c.names.push_back("the gradient of " + p.name);
        }
        c.tolerance = 1e-6;  // that of differences
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Ids one({1, 1}, {1}), src({2, 5}, {1, 2, 3, 4, 5, 6, 7, 0, 0, 0}),
        tgt({2, 3}, {1, 2, 3, 4, 5, 0});
    for (const char* which : {"forward", "the gradient of x", "the gradient of memory"}) {
        add(cases, which, one, one, false);
        for (const bool pre : {false, true}) add(cases, which, src, tgt, pre);
    }
    for (const bool pre : {false, true})
        add(cases, "the gradients of the parameters", src, tgt, pre);
}
