#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "judge/answer/cases.hpp"

// The model that the ablations of this chapter train: the toy's, but with one encoder layer, one
// decoder layer, d_model 64, 4 heads and d_ff 128.
namespace abh::judge {

inline TransformerOptions small_model() {
    TransformerOptions options = toy_task().model;
    options.n_encoder_layers = options.n_decoder_layers = 1;
    options.layer.attention.d_model = 64;
    options.layer.attention.n_heads = 4;
    options.layer.d_ff = 128;
    return options;
}

/// The losses of all steps of ten epochs, which chapter 9's program prints with six decimals.
inline std::vector<double> losses(const TransformerOptions& model_options, TrainingOptions options,
                                  Index seed) {
    options.epochs = 10;
    Transformer model(model_options, Random(static_cast<std::uint64_t>(seed)));
    std::vector<double> list;
    const auto note = [&](const StepReport& r) { list.push_back(r.loss); };
    train(model, toy_task().corpus, options, note);
    return list;
}

/// A line of the answer, and what other runs would have printed.
inline Case reported(const char* criterion, const char* line, double right, Values drawn,
                     std::vector<std::string> names,
                     const std::vector<std::pair<const char*, double>>& wrong) {
    Case c{.criterion = criterion,
           .call = line,
           .arguments = std::move(drawn),
           .results = values(right),
           .tolerance = 5e-4,  // four digits, and float rounding over twenty steps
           .names = std::move(names)};
    for (const auto& [says, loss] : wrong)
        c.mistakes.push_back({says, values(std::round(loss * 1e6) / 1e6)});  // as printed
    return c;
}

}  // namespace abh::judge
