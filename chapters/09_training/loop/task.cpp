#include "chapters/09_training/loop/task.hpp"

#include <cmath>
#include <vector>

#include "chapters/09_training/data/grammar.hpp"
#include "lib/io/text.hpp"
#include "lib/way.hpp"

namespace abh {
// [tasks]
namespace {

/// The model, but with the vocabulary sizes of the corpus.
TransformerOptions fitted(TransformerOptions model, const Corpus& corpus) {
    require(model.pad == 0, "the model's pad is {}, but that of the corpus is 0", model.pad);
    model.src_words = corpus.source.size();
    model.tgt_words = corpus.target.size();
    return model;
}

Task with_vocabulary(std::string name, Corpus corpus, const TransformerOptions& model,
                     const TrainingOptions& training) {
    const TransformerOptions own = fitted(model, corpus);
    return {
        .name = std::move(name), .corpus = std::move(corpus), .model = own, .training = training};
}

TransformerOptions small_model() {
    TransformerOptions o;
    o.n_encoder_layers = o.n_decoder_layers = 2;
    o.layer.attention.d_model = 128;
    o.layer.attention.n_heads = 4;
    o.layer.d_ff = 256;
    o.layer.add_norm.dropout = Real(0.1);
    o.embedding = {.scale = true, .padding_id = 0, .deviation = 1 / std::sqrt(Real(128))};
    o.positions = {.kind = Positions::sinusoid, .max_len = 256, .dropout = Real(0.1)};
    return o;
}

TrainingOptions small_training() {
    return {.epochs = 15,
            .batch_size = 32,
            .optimizer = "adam",
            .learning_rate = Real(1e-3),
            .warmup = 100,
            .smoothing = Real(0.1)};
}

}  // namespace

Task toy_task() {
    Task task = with_vocabulary("toy", toy_corpus(), TransformerOptions::toy(), {});
    task.print_steps = true;
    return task;
}

Task notebook_task() {
    Task task = with_vocabulary("notebook", notebook_corpus(), TransformerOptions::notebook(), {});
    task.print_steps = true;
    return task;
}

Task grammar_task(bool codes) {
    TransformerOptions model = small_model();
    if (!codes) model.positions.kind = Positions::none;
    return with_vocabulary(codes ? "grammar" : "grammar-without-codes", grammar_corpus(), model,
                           small_training());
}

namespace {

/// Eight digits by which another text is told apart (FNV-1a).
std::string digest(const std::string& text) {
    std::uint32_t sum = 2166136261;
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619;
    return fmt::format("{:08x}", sum);
}

}  // namespace

Task file_task(const std::filesystem::path& path, const std::optional<TransformerOptions>& model) {
    const TransformerOptions chosen = model.value_or(small_model());
    const Index max_words = chosen.positions.max_len - 1;  // a target also has the start symbol
    Corpus corpus = read_corpus(path, max_words);
    std::string text;
    for (const auto& [source, target] : corpus.train)
        text += join_words(source) + '\t' + join_words(target) + '\n';
    TrainingOptions training = small_training();
    training.bucket_by_length = true;
    Task task = with_vocabulary(fmt::format("data-{}-{}", path.stem().string(), digest(text)),
                                std::move(corpus), small_model(), training);
    task.model = fitted(chosen, task.corpus);
    return task;
}

namespace {

Task named_task(const std::string& name) {
    if (name == "toy") return toy_task();
    if (name == "notebook") return notebook_task();
    require(name == "grammar", "unknown corpus {}, expected toy, notebook or grammar", name);
    return grammar_task();
}

}  // namespace

Task make_task(const std::string& name, const std::filesystem::path& file,
               const std::optional<TransformerOptions>& model) {
    if (!file.empty()) return file_task(file, model);
    Task task = named_task(name);
    if (model) task.model = fitted(*model, task.corpus);
    return task;
}
// [names]
namespace {

/// The options of a training, under the names that they have on the command line; `beta2`, which is
/// not an option there, under its own.
std::vector<std::pair<std::string, std::string>> named(const TrainingOptions& o) {
    const auto text = [](const auto& value) { return fmt::format("{}", value); };
    return {{"epochs", text(o.epochs)},
            {"batch", text(o.batch_size)},
            {"optimizer", o.optimizer},
            {"lr", text(o.learning_rate)},
            {"warmup", text(o.warmup)},
            {"momentum", text(o.momentum)},
            {"weight-decay", text(o.weight_decay)},
            {"beta2", text(o.beta2)},
            {"smoothing", text(o.smoothing)},
            {"bucket-by-length", text(o.bucket_by_length)}};
}

/// The name of a task's model: empty for the task's own, otherwise that of the source text that has
/// this model, or else a digest.
std::string model_name(const Task& task) {
    const std::string model = to_json(task.model);
    if (model == to_json(task.own_model)) return "";
    for (const auto& [name, options] : {std::pair("toy", TransformerOptions::toy()),
                                        {"notebook", TransformerOptions::notebook()},
                                        {"article", TransformerOptions::article()},
                                        {"shared_heads", TransformerOptions::shared_heads()}})
        if (model == to_json(fitted(options, task.corpus))) return name;
    return "model=" + digest(model);
}

}  // namespace

std::string full_name(const Task& task) {
    const std::string model = model_name(task);
    std::string name = task.name + (model.empty() ? "" : "-" + model);
    const auto own = named(task.own_training);
    for (std::size_t i = 0; const auto& [option, value] : named(task.training))
        if (value != own[i++].second) name += fmt::format("-{}={}", option, value);
    return name;
}

std::string how_made(const Task& task, std::uint64_t seed) {
    const std::string model = model_name(task);
    std::string text = fmt::format("{}, seed {}, {}", printable(task.name), seed,
                                   model.empty() ? "the task's own model" : model);
    for (const auto& [option, value] : named(task.training))
        text += fmt::format(", {} {}", option, value);
    return text + ", way " + to_string(way());
}

}  // namespace abh
