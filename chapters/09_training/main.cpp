#include <cmath>
#include <functional>
#include <vector>

#include "chapters/09_training/cost.hpp"
#include "chapters/09_training/first.hpp"
#include "chapters/09_training/loop/train_with_output.hpp"
#include "chapters/09_training/model/checkpoint.hpp"
#include "chapters/09_training/sweep.hpp"
#include "chapters/09_training/systems.hpp"
#include "lib/device.hpp"
#include "lib/io/files.hpp"
#include "lib/program/program.hpp"
#include "lib/way.hpp"

using namespace abh;

namespace {
// [a batch]
void show_batch(const Corpus& corpus) {
    const Batch batch = make_batch(corpus, std::span(corpus.train).first(1));
    const auto show = [](const char* name, const Vocabulary& vocabulary, const Ids& ids) {
        std::vector<std::string> words, numbers;
        for (std::int32_t id : ids.values()) {
            words.push_back(vocabulary.word(id));
            numbers.push_back(std::to_string(id));
        }
        fmt::print("{:<10}  {}  =  {}\n", name, join_words(words), join_words(numbers));
    };
    show("source", corpus.source, batch.source.ids);
    show("target in", corpus.target, batch.target_in.ids);
    show("target out", corpus.target, batch.target_out);
}

/// Prints all pairs as the notebook prints its data.
void show_tensors(const Corpus& corpus) {
    const Batch batch = make_batch(corpus, corpus.train);
    fmt::print(" enc_inputs: \n{}\n", tensor_text(batch.source.ids));
    fmt::print(" dec_inputs: \n{}\n", tensor_text(batch.target_in.ids));
    fmt::print(" dec_outputs: \n{}\n", tensor_text(batch.target_out));
}
// [smallest loss]
/// The entropy of a smoothed target. No model can have a smaller loss per word.
double smallest_loss(double smoothing, double n_words) {
    const double off = smoothing / n_words, at = 1 - smoothing + off;
    return smoothing == 0 ? 0 : -at * std::log(at) - (n_words - 1) * off * std::log(off);
}
// [what came out]
/// Prints loss, perplexity and the number of exact pairs with dropout off, then the probabilities
/// of the right translations of some pairs.
void show_result(const Transformer& model, const Corpus& corpus, Results& results) {
    const auto all = [&](const char* name, const char* key,
                         const std::vector<SentencePair>& pairs) {
        if (pairs.empty()) return;
        const Evaluation e = evaluate(model, corpus, pairs);
        fmt::print("{:<11} {:5} pairs   loss per word {:.6f}   perplexity {:.4f}   exact {:5}\n",
                   name, pairs.size(), e.loss, std::exp(e.loss), e.exact);
        results.set(fmt::format("pairs_{}", key), pairs.size());
        results.set_varying(fmt::format("exact_{}", key), e.exact);
        results.set_varying(fmt::format("loss_{}", key), e.loss);
        results.set_varying(fmt::format("perplexity_{}", key), std::exp(e.loss));
    };
    all("trained on", "trained", corpus.train);
    all("held out", "held_out", corpus.held_out);

    const auto one = [&](const SentencePair& pair) {
        const Evaluation e = evaluate(model, corpus, std::span(&pair, 1));
        const double probability = std::exp(-e.loss * static_cast<double>(e.words));
        fmt::print("{:.6f}  {} -> {}\n", probability, join_words(pair.source),
                   join_words(pair.target));
        return probability;
    };
    fmt::print("\nprobability of the right translation\n");
    const std::size_t shown = std::min<std::size_t>(3, corpus.train.size());
    for (std::size_t i = 0; i < shown; ++i) one(corpus.train[i]);
    if (!corpus.held_out.empty())
        results.set_varying("unseen_probability", one(corpus.held_out.front()));
}

// [files]
/// Refuses a checkpoint that would take the place of another file of this run.
void require_apart(const std::filesystem::path& checkpoint,
                   std::initializer_list<std::filesystem::path> others) {
    namespace fs = std::filesystem;
    for (const fs::path& other : others)
        require(other.empty() || fs::weakly_canonical(checkpoint) != fs::weakly_canonical(other),
                "{} cannot be the checkpoint and something else; name another file",
                other.string());
}

TransformerOptions read_config(const std::filesystem::path& path) {
    try {
        return transformer_options(read_file(path));
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(fmt::format("{}: {}", path.string(), error.what()));
    }
}

}  // namespace
// [program]
int main(int argc, char** argv) {
    Program program("Train a Transformer to translate, and write a checkpoint");
    std::string corpus = "toy";
    std::string preset_name;
    std::filesystem::path data, config, checkpoint;
    bool no_checkpoint = false, show_config = false;
    Options& options = program.options();
    options.add("--corpus", corpus, "toy (3 pairs), notebook (2) or grammar (2,520)");
    options.add("--data", data, "file of pairs to train on, one per line: source, tab, target")
        .excludes("--corpus");
    options.add("--preset", preset_name, "another model: toy, notebook, article or shared_heads");
    options.add("--config", config, "another model: JSON file with its options")
        .excludes("--preset");
    options.flag("--show-config", show_config, "print the model's options in JSON and stop");
    const Options systems = options.command("systems", "the systems of the four source texts");
    const Options first = options.command("first", "a step by hand, and a first training");
    const Options cost = options.command("cost", "what a step of Adam, the loss and pads cost");
    const Options sweep = options.command("sweep", "SGD and Adam on the toy at several rates");
    options.add("--checkpoint", checkpoint, "file to write (default: checkpoints/...)");
    options.flag("--no-checkpoint", no_checkpoint, "write no checkpoint").excludes("--checkpoint");

    program.add_precision();

    TrainingOptions given;
    std::vector<std::function<void(TrainingOptions&)>> changes;
    const auto option = [&](const char* name, auto field, const char* meaning) {
        options.add(name, given.*field, meaning).default_shown("as fits the corpus");
        changes.push_back([&, name, field](TrainingOptions& o) {
            if (options.given(name)) o.*field = given.*field;
        });
    };
    option("--epochs", &TrainingOptions::epochs, "passes over the training pairs");
    option("--batch", &TrainingOptions::batch_size, "pairs per step");
    option("--optimizer", &TrainingOptions::optimizer, "sgd, adam or adamw");
    option("--lr", &TrainingOptions::learning_rate, "peak learning rate");
    option("--warmup", &TrainingOptions::warmup,
           "steps over which the learning rate grows; 0: constant");
    option("--momentum", &TrainingOptions::momentum, "momentum of sgd");
    option("--weight-decay", &TrainingOptions::weight_decay, "weight decay of adamw");
    option("--smoothing", &TrainingOptions::smoothing, "label smoothing");
    option("--bucket-by-length", &TrainingOptions::bucket_by_length,
           "put pairs of similar length into one batch, which needs fewer pads: true or false");
    // [program: body]
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        program.use_precision();
        if (systems.chosen())
            return show_systems(on_cuda() ? "cuda" : "cpu", program.seed(), results);
        if (first.chosen()) return show_first_training(program.seed(), results);
        if (cost.chosen()) return show_training_cost(program.seed(), results);
        if (sweep.chosen()) return show_sweep(results);
        std::optional<TransformerOptions> chosen;  // none: the one that fits the corpus
        if (!preset_name.empty()) chosen = preset(preset_name);
        if (!config.empty()) chosen = read_config(config);
        Task task = make_task(corpus, data, chosen);
        if (show_config) return fmt::print("{}\n", to_json(task.model));
        for (const auto& change : changes) change(task.training);
        count_steps(task.corpus, task.training);  // throws if an option is wrong, before any work
        if (checkpoint.empty() && !no_checkpoint)
            checkpoint = default_checkpoint(full_name(task), program.seed());
        require_apart(checkpoint, {data, config, program.trace()});

        section("Optimizers by hand");
        show_optimizers(results);
        section("A pair as the model sees it");
        show_batch(task.corpus);
        if (task.corpus.train.size() <= 3) {
            section("All pairs, as the notebook prints its data");
            show_tensors(task.corpus);
        }
        const Transformer model = train_with_output(task, program.seed(), checkpoint, results);
        section("What came out");
        show_result(model, task.corpus, results);
        const double floor = smallest_loss(static_cast<double>(task.training.smoothing),
                                           static_cast<double>(task.model.tgt_words));
        if (floor > 0) fmt::print("\nno training loss can be below {:.6f}\n", floor);
        results.set("smallest_loss", floor);
        results.set("target_words", task.model.tgt_words);
    });
}
