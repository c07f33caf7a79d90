#include <array>
#include <cmath>
#include <functional>
#include <tuple>
#include <vector>

#include "chapters/09_training/batches.hpp"
#include "chapters/09_training/loss_by_blocks.hpp"
#include "chapters/09_training/training.hpp"
#include "lib/eigen.hpp"
#include "lib/files.hpp"
#include "lib/matmul.hpp"
#include "lib/parallel.hpp"
#include "lib/program.hpp"
#include "lib/stopwatch.hpp"

using namespace abh;

namespace {
// [loss by hand]
std::string digits(std::span<const Real> row) {
    std::string text;
    for (Real x : row) text += fmt::format("{:8.3f}", x);
    return text;
}

/// Two words and a pad, three words to choose from.
void show_loss() {
    const Tensor logits({1, 3, 3}, {0, 2, 1, 1, 0, 3, 5, 5, 5});
    const Ids targets({1, 3}, {1, 2, 0});
    for (const Real smoothing : {Real(0), Real(0.1)}) {
        CrossEntropyCache cache;
        const double loss = cross_entropy(logits, targets, {0, smoothing}, &cache);
        const Tensor d = cross_entropy_backward(cache);
        fmt::print("smoothing {}: loss {:.6f}\n", smoothing, loss);
        for (std::size_t r = 0; r < 3; ++r)
            fmt::print("target {}   p{}   dlogits{}\n", targets.values()[r],
                       digits(cache.probabilities.values().subspan(3 * r, 3)),
                       digits(d.values().subspan(3 * r, 3)));
    }
}
// [optimizers by hand]
/// Five steps down w^2 / 2, whose gradient is w, from w = 1 with learning rate 0.1.
void show_optimizers() {
    const auto path = [](auto make) {
        Parameter w(Tensor::full({1}, 1));
        auto optimizer = make(Parameters{{"w", &w}});
        Tensor values = Tensor::full({6}, 1);
        for (Index step = 1; step <= 5; ++step) {
            w.grad()(0) = w.value(0);
            optimizer.step(Real(0.1));
            values(step) = w.value(0);
        }
        return digits(values.values());
    };
    fmt::print("sgd          {}\n", path([](const Parameters& p) { return Sgd(p, 0); }));
    fmt::print("momentum 0.9 {}\n", path([](const Parameters& p) { return Sgd(p, Real(0.9)); }));
    fmt::print("adam         {}\n", path([](const Parameters& p) { return Adam(p); }));
    fmt::print("adamw 0.5    {}\n",
               path([](const Parameters& p) { return Adam(p, {.weight_decay = Real(0.5)}); }));
}
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
    show("source", corpus.source, batch.source);
    show("target in", corpus.target, batch.target_in);
    show("target out", corpus.target, batch.target_out);
}

/// All pairs as the notebook prints its data.
void show_tensors(const Corpus& corpus) {
    const Batch batch = make_batch(corpus, corpus.train);
    fmt::print(" enc_inputs: \n{}\n", tensor_text(batch.source));
    fmt::print(" dec_inputs: \n{}\n", tensor_text(batch.target_in));
    fmt::print(" dec_outputs: \n{}\n", tensor_text(batch.target_out));
}
// [systems]
/// One of the four source systems, and a batch for it.
struct System {
    const char* name;
    TransformerOptions options;
    Ids src, tgt;
};

std::vector<System> source_systems() {
    const auto all = [](const Corpus& corpus) { return make_batch(corpus, corpus.train); };
    const Batch toy = all(toy_corpus()), notebook = all(notebook_corpus());
    const Ids article({2, 4}, {100, 2, 421, 508, 491, 998, 1, 221});  // its embedding's example
    const Ids src({2, 9}, {1, 5, 6, 4, 3, 9, 5, 2, 0, 1, 8, 7, 3, 4, 5, 6, 7, 2});
    const Ids tgt({2, 7}, {1, 7, 4, 3, 5, 9, 2, 1, 5, 6, 2, 4, 7, 6});  // without its last column
    return {{"toy", TransformerOptions::toy(), toy.source, toy.target_in},
            {"notebook", TransformerOptions::notebook(), notebook.source, notebook.target_in},
            {"article", TransformerOptions::article(), article, article},
            {"shared_heads", TransformerOptions::shared_heads(), src, tgt}};
}

TransformerOptions preset(const std::string& name) {
    for (const System& system : source_systems())
        if (name == system.name) return system.options;
    throw std::invalid_argument(
        fmt::format("unknown preset {}, expected toy, notebook, article or shared_heads", name));
}
// [systems: print]
/// Builds each system at its own size and sends its batch through.
void show_systems(const std::string& device, std::uint64_t seed, Results& results) {
    section("Four source systems");
    fmt::print("{:<14}{:>8}{:>7}{:>12}    {:8}{:8}{}\n", "", "d_model", "d_ff", "parameters",
               "source", "target", "logits");
    Shape last;
    for (const System& s : source_systems()) {
        Transformer model(s.options, Random(seed));
        const Index parameters = count_elements(parameters_of(model));
        last = model.forward(s.src, s.tgt).shape();  // [B, Lt, tgt_words]
        fmt::print("{:<14}{:>8}{:>7}{:>12}    {:8}{:8}{}\n", s.name,
                   s.options.layer.attention.d_model, s.options.layer.d_ff, parameters,
                   fmt::format("{}", s.src.shape()), fmt::format("{}", s.tgt.shape()), last);
        results.set(fmt::format("{}_parameters", s.name), static_cast<double>(parameters));
    }
    section("What the shared-head block prints");
    fmt::print("{}\ntorch.Size({})\n", device, last);
}
// [cost: adam by its equation]
/// Each line of Adam's equation for all weights before the next line; on all threads.
struct PlainAdam {
    Tensor w, m, v;
    AdamOptions options;
    Index steps = 0;

    explicit PlainAdam(const Tensor& start)
        : w(start.clone()), m(Tensor::zeros(start.shape())), v(Tensor::zeros(start.shape())) {}

    void step(const Tensor& gradient, Real rate) {
        ++steps;
        const auto [b1, b2, eps, weight_decay] = options;
        const Real bias1 = 1 - std::pow(b1, static_cast<Real>(steps));
        const Real bias2 = 1 - std::pow(b2, static_cast<Real>(steps));
        parallel_ranges(w.size(), (w.size() + threads() - 1) / threads(),
                        [&](Index begin, Index end) {
                            const auto part = [&](auto& t) {
                                return vector(t).segment(begin, end - begin).array();
                            };
                            auto w_part = part(w), m_part = part(m), v_part = part(v);
                            const auto g = part(gradient);
                            m_part = b1 * m_part + (1 - b1) * g;
                            v_part = b2 * v_part + (1 - b2) * g.square();
                            w_part -= rate * (m_part / bias1) / ((v_part / bias2).sqrt() + eps);
                        });
    }
};
// [cost: loss]
/// The last map, the loss, and back, for 64 sentences of 24 words: all logits at once and by
/// blocks.
void show_cost_of_loss(std::uint64_t seed, Results& results) {
    section("The loss by blocks");
    const Index rows = 64 * 24, d_model = 256, words = 8000;
    Random random(seed);
    Linear output(d_model, words, true, random);
    const Tensor x = normal({1, rows, d_model}, random.stream());
    const Ids targets = random_ids({1, rows}, 1, words, random.stream());
    Linear::Cache cache;
    CrossEntropyCache loss_cache;
    gain_header(fmt::format("{} rows, d_model {}, {} words", rows, d_model, words));
    show_gain(
        "loss and gradients", "loss", 7,
        [&] {
            zero_grad(parameters_of(output));
            cross_entropy(output.forward(x, &cache), targets, {}, &loss_cache);
            output.backward(cross_entropy_backward(loss_cache), cache);
            output.weight.grad();
        },
        [&] {
            zero_grad(parameters_of(output));
            cross_entropy_by_blocks(output, x, targets);
            output.weight.grad();
        },
        results);
    const double mb = static_cast<double>(sizeof(Real)) / 1e6;
    const double at_once = 3 * static_cast<double>(rows * words) * mb;  // logits, p and gradient
    const double block = static_cast<double>(numbers_at_once) * mb;
    fmt::print("in memory at once {:.0f} MB, by blocks {:.0f} MB\n", at_once, block);
    results.set("loss_mb", at_once);
    results.set("loss_block_mb", block);
}
// [cost: pads]
/// Pairs of 3 to 32 words, drawn.
Corpus drawn_corpus(Random& random) {
    const Index pairs = 512;
    Corpus corpus = empty_corpus();
    const Ids lengths = random_ids({pairs}, 3, 33, random.stream()),
              changes = random_ids({pairs}, -2, 3, random.stream()),  // target from source
        words = random_ids({pairs, 2, 35}, 0, 200, random.stream());
    for (Index i = 0; i < pairs; ++i) {
        SentencePair pair;
        for (Index j = 0; j < lengths(i); ++j)
            pair.source.push_back(fmt::format("{}", words(i, 0, j)));
        for (Index j = 0; j < lengths(i) + changes(i); ++j)
            pair.target.push_back(fmt::format("{}", words(i, 1, j)));
        add_words(corpus, pair);
        corpus.train.push_back(pair);
    }
    return corpus;
}

/// The gradients of all batches of an epoch: with their pads or without, lengths as they come or
/// like ones together.
void show_cost_of_pads(std::uint64_t seed, Results& results) {
    section("Pads");
    Random random(seed);
    const Corpus corpus = drawn_corpus(random);
    Task task = grammar_task();
    task.model.src_words = corpus.source.size();
    task.model.tgt_words = corpus.target.size();
    Transformer model(task.model, Random(seed));
    Trainer trainer(model, task.training);
    const Parameters parameters = parameters_of(model);
    const Stream of_pairs = random.stream(), of_batches = random.stream();
    Batches any(corpus.train, 32, false), like(corpus.train, 32, true);
    Transformer::Cache cache;
    CrossEntropyCache loss_cache;
    const auto epoch = [&](const Batches& batches, bool with_pads) {
        for (Index i = 0; i < batches.count(); ++i) {
            const Batch batch = make_batch(corpus, corpus.train, batches[i]);
            if (!with_pads) {
                trainer.set_gradients(batch);
                continue;
            }
            zero_grad(parameters);
            const Tensor logits = model.forward(batch.source, batch.target_in, &cache);
            cross_entropy(logits, batch.target_out, {}, &loss_cache);
            model.backward(cross_entropy_backward(loss_cache), cache);
        }
    };
    std::array<double, 2> words{};  // their share of the places
    for (const auto& [batches, name, key] : {std::tuple{&any, "lengths as they come", "any"},
                                             {&like, "like lengths together", "like"}}) {
        batches->draw(of_pairs, of_batches);
        const double share = share_of_pads(corpus.train, *batches);
        fmt::print("{:<28} {:4.1f} % of the places are pads\n", name, 100 * share);
        results.set(fmt::format("{}_pads", key), 100 * share);
        words[batches == &like] = 1 - share;
    }
    results.set("any_bound", 1 / words[0]);  // if time went with the places
    results.set("like_bound", words[1] / words[0]);
    gain_header("against lengths as they come, with pads");
    const auto line = [&](const char* what, const char* key, const Batches& batches,
                          bool with_pads) {
        show_gain(
            what, key, 5, [&] { epoch(any, true); }, [&] { epoch(batches, with_pads); }, results);
    };
    line("like lengths, with pads", "like_padded", like, true);
    line("as they come, pads left out", "any_packed", any, false);
    line("like lengths, pads left out", "like_packed", like, false);
}
// [cost]
/// Steps of Adam for a weight as large as a map of the feed-forward layer: the gradient given, and
/// as the product of two factors with 30 rows.
void show_cost(std::uint64_t seed, Results& results) {
    section("Making it fast");
    Random random(seed);
    const Tensor dy = normal({30, 2048}, random.stream()), x = normal({30, 512}, random.stream());
    Parameter given(normal({2048, 512}, random.stream())), kept(given.value.clone());
    PlainAdam plain(given.value), plain_product(given.value);
    Adam adam({{"given", &given}}), adam_product({{"kept", &kept}});
    given.add_product(dy, x);
    const Tensor gradient = given.grad();
    const Real rate = Real(1e-4);
    gain_header("one step of Adam, 2048 x 512 weights");
    show_gain(
        "the gradient given", "adam", 41, [&] { plain.step(gradient, rate); },
        [&] { adam.step(rate); }, results);
    show_gain(
        "the gradient a product of 30 rows", "product", 41,
        [&] { plain_product.step(matmul(dy, x, {.transpose_a = true}), rate); },
        [&] {
            kept.zero_grad();
            kept.add_product(dy, x);
            adam_product.step(rate);
        },
        results);
    const double difference =
        std::max(max_difference(plain.w, given.value), max_difference(plain_product.w, kept.value));
    fmt::print("largest difference of the weights {:.1e}\n", difference);
    results.set_varying("adam_difference", difference);
}
// [smallest loss]
/// The entropy of a smoothed target: no model has a smaller loss a word.
double smallest_loss(double smoothing, double n_words) {
    const double off = smoothing / n_words, at = 1 - smoothing + off;
    return smoothing == 0 ? 0 : -at * std::log(at) - (n_words - 1) * off * std::log(off);
}
// [what came out]
/// Loss and exact pairs, dropout off; and how probable the right translations of some pairs are.
void show_result(const Transformer& model, const Corpus& corpus, Results& results) {
    const auto all = [&](const char* name, const char* key,
                         const std::vector<SentencePair>& pairs) {
        if (pairs.empty()) return;
        const Evaluation e = evaluate(model, corpus, pairs);
        fmt::print("{:<11} {:5} pairs   loss a word {:.6f}   exact {:5}\n", name, pairs.size(),
                   e.loss, e.exact);
        results.set(fmt::format("pairs_{}", key), static_cast<double>(pairs.size()));
        results.set(fmt::format("exact_{}", key), static_cast<double>(e.exact));
        results.set_varying(fmt::format("loss_{}", key), e.loss);
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

// [another model]
TransformerOptions read_config(const std::filesystem::path& path) {
    try {
        return transformer_options(read_file(path));
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(fmt::format("{}: {}", path.string(), error.what()));
    }
}

/// Replaces the model of a task; the sizes of the vocabularies stay those of the corpus.
void use_model(Task& task, TransformerOptions model) {
    require(model.pad == task.model.pad, "the model's pad is {}, that of the corpus {}", model.pad,
            task.model.pad);
    model.src_words = task.model.src_words;
    model.tgt_words = task.model.tgt_words;
    task.model = model;
}

}  // namespace
// [program]
int main(int argc, char** argv) {
    Program program("Train a Transformer to translate, and write a checkpoint.");
    std::string corpus = "toy";
    std::string preset_name;
    std::filesystem::path data, config, checkpoint;
    bool no_checkpoint = false, show_config = false, systems = false, cost = false;
    CLI::App& app = program.app();
    app.add_option("--corpus", corpus, "toy (3 pairs), notebook (2) or grammar (1,944)");
    app.add_option("--data", data, "file of pairs to train on: source, tab, target")
        ->excludes("--corpus");
    app.add_option("--preset", preset_name,
                   "another model: toy, notebook, article or shared_heads");
    app.add_option("--config", config, "another model: file with its options in JSON")
        ->excludes("--preset");
    app.add_flag("--show-config", show_config, "print the model's options in JSON and stop");
    app.add_flag("--systems", systems, "instead: the four source systems");
    app.add_flag("--cost", cost, "instead: what a step of Adam, the loss and pads cost");
    app.add_option("--checkpoint", checkpoint, "file to write (default: checkpoints/...)");
    app.add_flag("--no-checkpoint", no_checkpoint, "write no checkpoint")->excludes("--checkpoint");

    std::vector<std::function<void(TrainingOptions&)>> changes;
    const auto option = [&]<class T>(const char* name, T TrainingOptions::*field,
                                     const char* meaning) {
        const auto change = [&changes, field](const T& value) {
            changes.push_back([=](TrainingOptions& o) { o.*field = value; });
        };
        app.add_option_function<T>(name, change, meaning)->default_str("as fits the corpus");
    };
    option("--epochs", &TrainingOptions::epochs, "passes over the pairs");
    option("--batch", &TrainingOptions::batch_size, "pairs a step");
    option("--optimizer", &TrainingOptions::optimizer, "sgd, adam or adamw");
    option("--lr", &TrainingOptions::learning_rate, "learning rate, at its peak");
    option("--warmup", &TrainingOptions::warmup, "steps of growing learning rate; 0: constant");
    option("--momentum", &TrainingOptions::momentum, "of sgd");
    option("--weight-decay", &TrainingOptions::weight_decay, "of adamw");
    option("--smoothing", &TrainingOptions::smoothing, "of the targets");
    option("--like-lengths", &TrainingOptions::like_lengths,
           "put pairs of like lengths into one batch, so that few pads are needed: true or false");
    // [program: body]
    return program.run(argc, argv, [&] {
        if (systems)
            return show_systems(app.get_option("--device")->as<std::string>(), program.seed(),
                                program.results());
        if (cost) {
            show_cost(program.seed(), program.results());
            show_cost_of_loss(program.seed(), program.results());
            return show_cost_of_pads(program.seed(), program.results());
        }
        Task task = make_task(corpus, data);
        if (!preset_name.empty()) use_model(task, preset(preset_name));
        if (!config.empty()) use_model(task, read_config(config));
        if (show_config) return fmt::print("{}\n", to_json(task.model));
        for (const auto& change : changes) change(task.training);
        count_steps(task.corpus, task.training);  // complains about options before all work
        if (checkpoint.empty() && !no_checkpoint)
            checkpoint = default_checkpoint(task.name, program.seed());

        section("Loss by hand");
        show_loss();
        section("Optimizers by hand");
        show_optimizers();
        section("A pair as the model sees it");
        show_batch(task.corpus);
        if (task.corpus.train.size() <= 3) {
            section("All pairs, as the notebook prints its data");
            show_tensors(task.corpus);
        }
        const Transformer model =
            train_with_output(task, program.seed(), checkpoint, program.results());
        section("What came out");
        show_result(model, task.corpus, program.results());
        const double floor = smallest_loss(static_cast<double>(task.training.smoothing),
                                           static_cast<double>(task.model.tgt_words));
        if (floor > 0) fmt::print("\nno loss in training is below {:.6f}\n", floor);
        program.results().set("smallest_loss", floor);
    });
}
