#include "judge/answer/cases.hpp"

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

double parameters_with(const MultiHeadOptions& options) {
    Random random(1);
    MultiHeadAttention layer(options, random);
    return static_cast<double>(count_elements(parameters_of(layer)));
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    Index heads, d_k, d_model, batch, length;
    do {
        heads = cases.between(2, 5), d_k = cases.between(3, 9), d_model = heads * d_k;
        batch = cases.between(6, 9), length = cases.between(7, 19);
    } while (heads == d_k || batch == length || batch == d_model || length == d_model);
    const double d = static_cast<double>(d_model), square = d * d;
    const double n_words = static_cast<double>(batch * length), h = static_cast<double>(heads);

    Random random(1);
    const MultiHeadAttention layer({.d_model = d_model, .n_heads = heads}, random);
    const Tensor x = cases.normal({batch, length, d_model});
    Tensor weights;
    layer.forward(x, x, x, {}, nullptr, &weights);

    const double all = parameters_with({.d_model = d_model, .n_heads = heads});
    const double shared = parameters_with(
        {.d_model = d_model, .n_heads = heads, .bias_qkv = false, .shared_head_projections = true});
    const double pairs = n_words * static_cast<double>(length);
    const double maps = 4 * n_words * square, attention = 2 * pairs * d;

    const auto add = [&](const char* name, double right, const std::vector<Mistake>& mistakes) {
        cases.add({.criterion = name,
                   .call = name,
                   .arguments = values(d_model, heads, batch, length),
                   .results = values(right),
                   .names = {"d_model", "H", "B", "L"},
                   .mistakes = mistakes});
    };
    add("parameters", all,
        {{"the biases are left out", values(4 * square)},
         {"the output projection is left out", values(3 * (square + d))},
         {"the projections of all heads together are one matrix, so H does not occur",
          values(3 * h * (square + d) + square + d)}});
    add("shared", shared,
        {{"each of the three small maps exists once, for all heads",
          values(3 * h * static_cast<double>(d_k * d_k) + square + d)},
         {"the bias of the output projection is left out", values(shared - d)},
         {"the small maps have no biases", values(shared + 3 * static_cast<double>(d_k))},
         {"the output projection is not shared, so it is as wide as the row",
          values(4 * static_cast<double>(d_k * d_k) + static_cast<double>(d_k))}});
    add("weights", static_cast<double>(weights.size()),
        {{"each head has weights of its own", values(pairs)},
         {"these are the weights of one sentence",
          values(h * static_cast<double>(length * length))}});
    add("multiplications", maps + attention,
        {{"the context or the scores are left out; each takes as many multiplications",
          values(maps + attention / 2)},
         {"the scores and the context are left out", values(maps)},
         {"the four maps are left out", values(attention)},
         {"the output projection is left out", values(maps * 3 / 4 + attention)},
         {"each head multiplies d_k times for a pair of words, not d_model times",
          values(maps + h * attention)},
         {"additions do not count here", values(2 * (maps + attention))}});
}
