#include "judge/answer/cases.hpp"

#include "chapters/07_encoder/encoder.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Index longest(Index parameters, Index matrices) {
    Index length = 0;
    while (matrices * (length + 1) * (length + 1) <= parameters) ++length;
    return length;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    LayerOptions options;
    const Index n_layers = cases.between(2, 7), n_heads = cases.between(2, 6),
                d_model = 8 * n_heads * cases.between(2, 4), d_ff = 10 * cases.between(11, 40) + 3,
                batch = cases.between(3, 40), length = cases.between(11, 90);
    options.attention.d_model = d_model;
    options.attention.n_heads = n_heads;
    options.d_ff = d_ff;
    options.add_norm.placement = NormPlacement::pre;
    Random random(1);
    EncoderLayer one(options, random);
    Encoder all(options, n_layers, random);
    const Index layer = count_elements(parameters_of(one)),
                stack = count_elements(parameters_of(all));
    std::vector<Tensor> kept;
    all.forward(Tensor::zeros({1, length, d_model}), {}, nullptr, &kept);
    Index weights = 0;
    for (const Tensor& of_layer : kept) weights += batch * of_layer.size();

    const auto add = [&](const char* criterion, const char* line, Index right,
                         const std::vector<std::pair<const char*, Index>>& wrong) {
        std::vector<Mistake> mistakes;
        for (const auto& [says, number] : wrong)
            mistakes.push_back({says, values(static_cast<Real>(number))});
        cases.add({.criterion = criterion,
                   .call = line,
                   .arguments = values(n_layers, d_model, n_heads, d_ff, batch, length),
                   .results = values(static_cast<Real>(right)),
                   .names = {"N", "d_model", "H", "d_ff", "B", "L"},
                   .mistakes = mistakes});
    };
    const Index d = d_model, norms = 4 * d, biases = 4 * d + d_ff + d;
    add("parameters of a layer", "layer", layer,
        {{"the biases are missing", layer - biases},
         {"the norms' gains and shifts are missing", layer - norms},
         {"biases, gains and shifts are missing", layer - biases - norms},
         {"three projections are counted; the output projection is the fourth", layer - d * d - d},
         {"the heads' projections lie side by side in one matrix, so H is not a factor",
          layer + (n_heads - 1) * 4 * (d * d + d)}});
    add("parameters of the stack", "stack", stack,
        {{"the norm after the stack is missing", n_layers * layer},
         {"the norm after the stack has a gain and a shift", n_layers * layer + d}});
    add("attention weights", "weights", weights,
        {{"each head has weights of its own", weights / n_heads},
         {"each layer has weights of its own", weights / n_layers},
         {"this is one sentence, not the batch", weights / batch},
         {"a row of weights has a number for each key, not one for each column of a head",
          batch * n_heads * length * (d / n_heads) * n_layers}});
    const Index l = longest(stack, n_layers * n_heads);
    add("the longest sentence", "longest", l,
        {{"at this length there are more weights than parameters; round down", l + 1},
         {"B = 1 here, but this is the length for your batch",
          longest(stack, batch * n_layers * n_heads)},
         {"all layers keep their weights", longest(stack, n_heads)}});
}
