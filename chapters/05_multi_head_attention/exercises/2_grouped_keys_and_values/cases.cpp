#include "judge/answer/cases.hpp"

#include <functional>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

using GroupOf = std::function<Index(Index h, Index n_heads, Index n_groups)>;

Index neighbors(Index h, Index n_heads, Index n_groups) {
    return h / (n_heads / n_groups);
}

Index in_turn(Index h, Index, Index n_groups) {
    return h % n_groups;
}

Tensor spread(const Tensor& x, Index n_heads, const GroupOf& group_of) {
    Tensor y(x.shape().with(1, n_heads));
    for (Index b = 0; b < y.dim(0); ++b)
        for (Index h = 0; h < n_heads; ++h)
            for (Index j = 0; j < y.dim(2); ++j)
                for (Index a = 0; a < y.dim(3); ++a)
                    y(b, h, j, a) = x(b, group_of(h, n_heads, x.dim(1)), j, a);
    return y;
}

enum class Take { sum, mean, last };

Tensor gather(const Tensor& dy, Index n_groups, const GroupOf& group_of, Take take = Take::sum) {
    const Index n_heads = dy.dim(1);
    Tensor dx = Tensor::zeros(dy.shape().with(1, n_groups));
    for (Index b = 0; b < dy.dim(0); ++b)
        for (Index h = 0; h < n_heads; ++h)
            for (Index j = 0; j < dy.dim(2); ++j)
                for (Index a = 0; a < dy.dim(3); ++a) {
                    Real& element = dx(b, group_of(h, n_heads, n_groups), j, a);
                    if (take == Take::last) element = 0;
                    element += dy(b, h, j, a);
                }
    if (take == Take::mean) dx *= static_cast<Real>(n_groups) / static_cast<Real>(n_heads);
    return dx;
}

struct Inputs {
    Tensor q, k, v, dy;
    Mask mask;
    Index n_groups;
};

Tensor forward(const Inputs& in, const GroupOf& group_of, AttentionCache* cache = nullptr) {
    const Index n_heads = in.q.dim(1);
    return attention(in.q, spread(in.k, n_heads, group_of), spread(in.v, n_heads, group_of),
                     in.mask, {}, cache);
}

Values backward(const Inputs& in, const GroupOf& group_of, Take take = Take::sum) {
    AttentionCache cache;
    forward(in, group_of, &cache);
    const auto [dq, dk, dv] = attention_backward(in.dy, cache);
    return values(dq, gather(dk, in.n_groups, group_of, take),
                  gather(dv, in.n_groups, group_of, take));
}

void check(const Inputs& in) {
    AttentionCache cache;
    forward(in, neighbors, &cache);
    const auto [dq, dk, dv] = attention_backward(in.dy, cache);
    const auto again = [&] { return forward(in, neighbors); };
    require_close(dq, differences(again, in.q, in.dy), "dq");
    require_close(gather(dk, in.n_groups, neighbors), differences(again, in.k, in.dy), "dk");
    require_close(gather(dv, in.n_groups, neighbors), differences(again, in.v, in.dy), "dv");
}

void add(Cases& cases, Index n_heads, Index n_groups, bool masked) {
    const Index batch = 2, n_queries = 2, n_keys = 3, d_k = 3, d_v = 2;
    Mask mask;
    if (masked) mask = Mask({batch, 1, 1, n_keys}, {0, 0, 1, 0, 0, 0});
    const Inputs in{cases.normal({batch, n_heads, n_queries, d_k}),
                    cases.normal({batch, n_groups, n_keys, d_k}),
                    cases.normal({batch, n_groups, n_keys, d_v}),
                    cases.normal({batch, n_heads, n_queries, d_v}),
                    mask,
                    n_groups};
    check(in);
    Inputs bare = in;
    bare.mask = Mask();
    const bool own = n_groups == n_heads, one = n_groups == 1;
    const std::string about =
        fmt::format("H = {}, G = {}{}", n_heads, n_groups, masked ? ", masked" : "");
    const std::string turned =
        "query heads take key heads in turn, but the query heads of a group are neighbors";
    cases.add({.criterion = own ? "a group for each head" : "forward",
               .call = "grouped_attention",
               .arguments = values(in.q, in.k, in.v, in.mask),
               .results = values(forward(in, neighbors)),
               .about = about,
               .names = {"q", "k", "v", "mask", "y"},
               .mistakes = {{turned, values(forward(in, in_turn))},
                            {"the mask has no effect", values(forward(bare, neighbors))}}});
    AttentionCache cache;
    forward(in, neighbors, &cache);
    const auto [dq, dk, dv] = attention_backward(in.dy, cache);
    cases.add(
        {.criterion = own   ? "a group for each head"
                      : one ? "backward with one group for all"
                            : "backward",
         .call = "grouped_attention_backward",
         .arguments = values(in.dy, in.q, in.k, in.v, in.mask),
         .results = backward(in, neighbors),
         .about = about,
         .names = {"dy", "q", "k", "v", "mask", "dq", "dk", "dv"},
         .constants = {{"H / G", static_cast<double>(n_heads / n_groups)}},
         .mistakes = {
             {turned, backward(in, in_turn)},
             {"a key head gets the gradient of its last head alone, but all heads of the group "
              "read it",
              backward(in, neighbors, Take::last)},
             {"this is the mean over a group's heads, but gradients of copies add, so it is the "
              "sum",
              backward(in, neighbors, Take::mean)},
             {"this is one gradient for each query head; add up those of a group, which share a "
              "key head",
              values(dq, dk, dv)},
             {"the mask has no effect", backward(bare, neighbors)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const Index n_groups : {1, 2, 3, 6}) add(cases, 6, n_groups, n_groups == 2);
    add(cases, 4, 1, true);
    add(cases, 3, 3, true);
    add(cases, 8, 4, false);
}
