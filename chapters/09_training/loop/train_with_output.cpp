#include "chapters/09_training/loop/train_with_output.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "chapters/09_training/model/checkpoint.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [gradient norms]
namespace {

/// The layer in a parameter's name: `encoder.layers.0` in `encoder.layers.0.linear1.weight`,
/// `output` in `output.weight`.
std::string layer_of(const std::string& name) {
    std::size_t end = name.find('.');
    if (name.compare(end, 8, ".layers.") == 0) end = name.find('.', end + 8);
    return name.substr(0, end);
}

/// The norm of each layer's gradient over the course of training.
struct NormTable {
    std::string layers;  ///< names, separated by spaces
    std::vector<Real> norms, epochs;

    void add_row(Index epoch, Transformer& model) {
        layers.clear();
        epochs.push_back(static_cast<Real>(epoch));
        const Parameters all = parameters_of(model);  // a layer's parameters are neighbors
        for (auto first = all.begin(), end = first; first != all.end(); first = end) {
            const std::string layer = layer_of(first->name);
            end = std::find_if(first, all.end(),
                               [&](const auto& p) { return layer_of(p.name) != layer; });
            layers += (layers.empty() ? "" : " ") + layer;
            norms.push_back(static_cast<Real>(grad_norm({first, end})));
        }
    }
};

Tensor to_tensor(const std::vector<Real>& values, const Shape& shape) {
    Tensor t(shape);
    std::copy(values.begin(), values.end(), t.values().begin());
    return t;
}

}  // namespace
// [print]
namespace {

void print_model(const Task& task, Transformer& model) {
    const TransformerOptions& o = task.model;
    const TrainingOptions& t = task.training;
    section("Model");
    fmt::print("{} source words, {} target words, d_model {}, d_ff {}, {} heads, {} + {} layers\n",
               o.src_words, o.tgt_words, o.layer.attention.d_model, o.layer.d_ff,
               o.layer.attention.n_heads, o.n_encoder_layers, o.n_decoder_layers);
    fmt::print("{} parameters\n", count_elements(parameters_of(model)));
    fmt::print("{}, learning rate {}, {}{}\n", t.optimizer, t.learning_rate,
               t.warmup > 0 ? fmt::format("warm-up of {} steps", t.warmup) : "no warm-up",
               t.optimizer == "adamw" ? fmt::format(", weight decay {}", t.weight_decay) : "");
    fmt::print("{} pairs, batches of {}{}, {} epochs: {} steps\n", task.corpus.train.size(),
               t.batch_size, t.bucket_by_length ? " of like lengths" : "", t.epochs,
               count_steps(task.corpus, t));
}

}  // namespace
// [with output]
Transformer train_with_output(const Task& task, std::uint64_t seed,
                              const std::filesystem::path& checkpoint, Results& results) {
    const Index steps = count_steps(task.corpus, task.training), epochs = task.training.epochs;
    const Index in_epoch = steps / epochs, each = std::max<Index>(1, epochs / 25);
    Transformer model(task.model, Random(seed));
    const TensorFile file = checkpoint_of(model, task.corpus, how_made(task, seed));
    if (!checkpoint.empty()) try_to_save_safetensors(checkpoint, file);  // now, not after training
    print_model(task, model);

    section("Training");
    std::vector<Real> losses, rates;
    NormTable table;
    Progress progress("training", steps);
    const auto start = std::chrono::steady_clock::now();
    train(model, task.corpus, task.training, [&](const StepReport& r) {
        losses.push_back(static_cast<Real>(r.loss));
        rates.push_back(r.learning_rate);
        const bool epoch_ends = r.step % in_epoch == 0;
        const Index lines = task.print_steps ? 1 : in_epoch;  // steps per printed line
        if (r.step % lines == 0) {
            const double sum = std::accumulate(losses.end() - lines, losses.end(), 0.0);
            progress.clear();
            fmt::print("Epoch: {:04d} loss = {:.6f}\n", r.epoch, sum / static_cast<double>(lines));
            std::fflush(stdout);  // so that a file or a pipe, too, gets each line at once
        }
        if (epoch_ends && (r.epoch - 1) % each == 0) table.add_row(r.epoch, model);
        progress.show(r.step, fmt::format("loss {:.4f}", r.loss));
    });
    progress.clear();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (!checkpoint.empty()) save_safetensors(checkpoint, file);  // what `model` now is

    section("Time and checkpoint");
    fmt::print("{:.1f} s for {} steps\n{}\n", seconds.count(), steps,
               checkpoint.empty() ? "not saved" : checkpoint.string());
    const Index rows = static_cast<Index>(table.epochs.size());
    const Index layers = static_cast<Index>(table.norms.size()) / rows;
    results.set("parameters", count_elements(parameters_of(model)));
    results.set("steps", steps);
    results.set_varying("first_loss", losses.front());
    results.set_varying("final_loss", losses.back());
    results.set_varying("training_seconds", seconds.count(), "s");
    results.set("norm_layers", table.layers);
    results.array("losses", to_tensor(losses, {steps}));
    results.array("rates", to_tensor(rates, {steps}));
    results.array("norm_epochs", to_tensor(table.epochs, {rows}));
    results.array("norms", to_tensor(table.norms, {rows, layers}));
    return model;
}

}  // namespace abh
