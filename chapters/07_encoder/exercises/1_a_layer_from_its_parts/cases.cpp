#include "judge/answer/cases.hpp"

#include "chapters/07_encoder/encoder.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void learned(LayerNorm& norm, Random& random) {
    norm.gamma.value = normal(norm.gamma.value.shape(), random.stream());
    norm.beta.value = normal(norm.beta.value.shape(), random.stream());
}

/// The book's own layer, with weights drawn in the same order as in call.cpp.
EncoderLayer layer_of(Index d_model, Index n_heads, Index d_ff, bool pre, Index seed) {
    LayerOptions options;
    options.attention.d_model = d_model;
    options.attention.n_heads = n_heads;
    options.d_ff = d_ff;
    options.add_norm.placement = pre ? NormPlacement::pre : NormPlacement::post;
    Random unused(0), random(static_cast<std::uint64_t>(seed));
    EncoderLayer layer(options, unused);
    layer.self_attn = MultiHeadAttention(options.attention, random);
    layer.ff = FeedForward(d_model, d_ff, true, random);
    learned(layer.norm1.norm, random);
    learned(layer.norm2.norm, random);
    return layer;
}

enum class Slip { first_residual, second_residual, adds_x, adds_norm, keys_of_x, one_norm, last };

/// The layer with one of the common mistakes.
Tensor wrong(const EncoderLayer& layer, const Tensor& x, const AttentionMask& mask, bool pre,
             Slip slip) {
    const LayerNorm &n1 = layer.norm1.norm,
                    &n2 = slip == Slip::one_norm ? layer.norm1.norm : layer.norm2.norm;
    const Tensor h1 = pre ? n1.forward(x) : x, &keys = slip == Slip::keys_of_x ? x : h1;
    const Tensor f1 = layer.self_attn.forward(h1, keys, keys, mask);
    const Tensor sum1 = slip == Slip::first_residual ? f1 : (slip == Slip::adds_norm ? h1 : x) + f1;
    const Tensor x1 = pre ? sum1 : n1.forward(sum1);
    const Tensor f2 = layer.ff.forward(pre ? n2.forward(x1) : x1);
    const Tensor sum2 = slip == Slip::second_residual ? f2 : (slip == Slip::adds_x ? x : x1) + f2;
    return pre && slip != Slip::last ? sum2 : n2.forward(sum2);
}

void add(Cases& cases, const char* criterion, const Tensor& x, const Ids& words, Index n_heads,
         Index d_ff, bool pre) {
    const Index seed = cases.between(1, 1'000'000);
    const EncoderLayer layer = layer_of(x.dim(2), n_heads, d_ff, pre, seed);
    const AttentionMask mask = hide_pads(words);
    cases.add(
        {.criterion = criterion,
         .call = "encoder_layer",
         .arguments = values(x, words, n_heads, d_ff, pre, seed),
         .results = values(layer.forward(x, mask)),
         .about = fmt::format("x {}, {} heads, {}", x.shape(), n_heads, pre ? "pre" : "post"),
         .names = {"x", "words", "n_heads", "d_ff", "pre", "seed", "y"},
         .mistakes = {
             {"the residual connection around attention is missing",
              values(wrong(layer, x, mask, pre, Slip::first_residual))},
             {"the residual connection around feed-forward is missing",
              values(wrong(layer, x, mask, pre, Slip::second_residual))},
             {"the second residual connection adds x, but should add the first one's result",
              values(wrong(layer, x, mask, pre, Slip::adds_x))},
             {"the residual connection adds the normalized input, but should add x",
              values(wrong(layer, x, mask, pre, Slip::adds_norm))},
             {"keys and values come from x, but should come from its norm, as the query does",
              values(wrong(layer, x, mask, pre, Slip::keys_of_x))},
             {"norm1 is used in both places", values(wrong(layer, x, mask, pre, Slip::one_norm))},
             {"with pre, no norm ends the layer; the last norm comes after the stack, not after "
              "each layer",
              values(wrong(layer, x, mask, pre, Slip::last))},
             {"the mask has no influence; is it passed to attention?",
              values(layer.forward(x, {}))},
             {"this is the layer with the norm in the other place",
              values(layer_of(x.dim(2), n_heads, d_ff, !pre, seed).forward(x, mask))}}});
}

void add_by_hand(Cases& cases, const char* criterion, const Tensor& x, const Tensor& y, bool pre) {
    cases.add({.criterion = criterion,
               .call = "by_hand",
               .arguments = values(x, pre),
               .results = values(y),
               .tolerance = 1e-5,  // epsilon is left out
               .about = "the numbers of the statement",
               .names = {"x", "pre", "y"}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const bool pre : {false, true}) {
        const char* const criterion = pre ? "the norm in front" : "the norm behind the sum";
        add(cases, criterion, cases.normal({1, 1, 4}), Ids({1, 1}, {3}), 1, 7, pre);
        add(cases, criterion, cases.normal({2, 5, 6}), Ids({2, 5}, {1, 2, 3, 4, 5, 2, 2, 1, 6, 1}),
            3, 4, pre);
        add_by_hand(cases, criterion, Tensor({1, 1, 2}, {3, 1}),
                    Tensor({1, 1, 2}, {pre ? Real(4) : Real(1), pre ? Real(0) : Real(-1)}), pre);
    }
    for (const bool pre : {false, true})
        add(cases, "pads are hidden", cases.normal({2, 4, 8}),
            Ids({2, 4}, {1, 2, 3, 0, 2, 0, 0, 0}), 2, 5, pre);
}
