#include "chapters/13_real_translation/train_command.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/practice/text_model.hpp"
#include "chapters/13_real_translation/practice/training_report.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/way.hpp"

namespace abh {
// [options]
TrainCommand::TrainCommand(Options& parent, std::string name)
    : parent_(parent),
      name_(std::move(name)),
      command_(parent.command("train", "train a translator (default)")) {
    TrainOptions& o = options_;
    RunOptions& r = o.run;
    TrainingOptions& t = r.training;
    parent.add("--train", o.train, "pairs to train on: FILE or SOURCE,TARGET");
    parent.add("--dev", o.dev, "pairs to choose the model by (default: some of --train)");
    parent.add("--test", o.test, "pairs to report on (default: likewise, if --dev is not given)");
    parent.add("--save", o.folder, "folder of the run (default: checkpoints/...)");
    parent.flag("--resume", o.resume, "go on with the run in that folder");
    parent.flag("--quick", o.quick, "train a small model for five epochs");
    parent.add("--epochs", t.epochs, "maximum number of epochs").range(1, 100'000);
    parent.add("--minutes", r.minutes, "begin no epoch that would end later; 0: no limit")
        .range(0.0, 1e6);
    parent.add("--patience", r.patience, "end after so many epochs without progress; 0: no limit")
        .range(0, 100'000);
    parent.add("--save-minutes", o.save_minutes, "minutes between two saved states of the run");
    parent.add("--average", o.average, "last epochs whose weights are averaged").range(1, 100);
    parent.add("--tokenization", o.tokenization, "tokenization for BLEU: 13a, zh, char or none")
        .one_of({"13a", "zh", "char", "none"});
    parent.add("--pieces", o.pieces, "most pieces in a vocabulary").range(270, 100'000);
    parent.flag("--shared", o.shared, "use one vocabulary for both languages");
    parent.add("--d-model", o.d_model, "numbers in a word's row");
    parent.add("--d-ff", o.d_ff, "numbers in a hidden row");
    parent.add("--heads", o.n_heads, "heads of each attention");
    parent.add("--layers", o.n_layers, "layers of the encoder, and of the decoder");
    parent.add("--dropout", o.dropout, "probability of dropout");
    parent.add("--tokens", r.tokens,
               "maximum number of words in a batch, source and target together");
    parent.add("--accumulate", r.accumulate, "batches per step").range(1, 100'000);
    parent.add("--lr", t.learning_rate, "peak learning rate");
    parent.add("--warmup", t.warmup, "steps in which the learning rate grows");
    parent.add("--smoothing", t.smoothing, "label smoothing of the targets");
    parent.add("--clip", r.clip, "largest norm of the gradients; 0: no limit").range(0.0, 1e9);
}

void TrainCommand::use_quick_defaults() {
    const auto set = [&](const char* name, auto& option, auto value) {
        if (!parent_.given(name)) option = value;
    };
    set("--epochs", options_.run.training.epochs, Index{5});
    set("--tokens", options_.run.tokens, Index{1024});
    set("--d-model", options_.d_model, Index{128});
    set("--d-ff", options_.d_ff, Index{256});
    set("--layers", options_.n_layers, Index{2});
    set("--pieces", options_.pieces, Index{4500});
    set("--dropout", options_.dropout, Real(0.1));
    set("--warmup", options_.run.training.warmup, Index{200});
    set("--lr", options_.run.training.learning_rate, Real(3e-3));
}
// [model]
namespace {

TransformerOptions model_options(const TrainOptions& options, Index src_words, Index tgt_words) {
    TransformerOptions o;
    o.src_words = src_words;
    o.tgt_words = tgt_words;
    o.n_encoder_layers = o.n_decoder_layers = options.n_layers;
    o.layer.attention.d_model = options.d_model;
    o.layer.attention.n_heads = options.n_heads;
    o.layer.d_ff = options.d_ff;
    o.layer.add_norm.dropout = options.dropout;
    o.embedding = {.scale = true, .padding_id = 0};
    o.tied = options.shared ? Tied::all : Tied::target;
    o.positions = {.kind = Positions::sinusoid, .max_len = 256, .dropout = options.dropout};
    return o;
}
// [text]
/// A text, and what is to be said beside the scores of its parts.
struct RunText : ParallelText {
    std::string beside_dev, beside_test;
};

/// The lines that no score of a file counts, to be printed; empty if it counts all.
std::string not_scored(const std::string& files, const CleanCounts& counts) {
    if (counts.kept == counts.read()) return "";
    return fmt::format("not scored: {} of the {} lines of {} ({})\n", counts.read() - counts.kept,
                       counts.read(), printable(files), counts.reasons());
}

RunText read_text(const TrainOptions& options, Results& results) {
    std::string said;
    const auto read = [&](const std::string& files, const CleanOptions& clean,
                          std::string* beside = nullptr) {
        CleanCounts counts;
        auto pairs = read_pairs(PairFiles::parse(files), clean, &counts);
        said += fmt::format("{}: {}\n", printable(files), counts.summary());
        if (beside) *beside = not_scored(files, counts);
        return pairs;
    };
    RunText text;
    ParallelText& parts = text;
    if (options.train.empty()) {
        require(options.dev.empty() && options.test.empty(),
                "--dev and --test need pairs of --train");
        CleanCounts counts;
        parts = tatoeba(&counts);
        said = counts.summary() + "\n";
    } else {
        text.train = read(options.train, {});
        const Index some = std::min<Index>(1000, static_cast<Index>(text.train.size()) / 10);
        if (options.dev.empty())
            parts = split_pairs(text.train, some, options.test.empty() ? some : 0);
        else
            text.dev = read(options.dev, CleanOptions::every(), &text.beside_dev);
        require(!text.dev.empty(),
                "no pairs to choose by: give some with --dev, or at least ten with --train");
        if (!options.test.empty())
            text.test = read(options.test, CleanOptions::every(), &text.beside_test);
    }
    section("Data");
    fmt::print("{}{} to train on, {} to choose by, {} to report on\n", said, text.train.size(),
               text.dev.size(), text.test.size());
    results.set("train_pairs", static_cast<double>(text.train.size()));
    results.set("dev_pairs", static_cast<double>(text.dev.size()));
    results.set("test_pairs", static_cast<double>(text.test.size()));
    return text;
}
// [subwords]
/// Both languages' subwords, learned from the pairs to train on.
/// @param shared  one vocabulary for both
std::pair<Subwords, Subwords> learn_subwords(const std::vector<TextPair>& train, Index n_pieces,
                                             bool shared) {
    if (shared) {
        const Subwords both = Subwords::train(both_sides(train), n_pieces);
        return {both, both};
    }
    return {Subwords::train(sources(train), n_pieces), Subwords::train(targets(train), n_pieces)};
}
// [encode]
/// Pairs to train on, to choose by and to report on, as ids.
struct TranslationData {
    std::vector<IdPair> train;
    HeldOut dev, test;
    Index too_long = 0;  ///< training pairs left out because the model has too few positions
};

/// Cuts text into pieces. @param longest  the most ids of a sentence, including its end symbol
TranslationData encode_text(const RunText& text, const Subwords& source, const Subwords& target,
                            Index longest) {
    const std::size_t most = static_cast<std::size_t>(longest) - 1;  // and the end symbol
    TranslationData data;
    const auto ids_of = [&](const TextPair& pair) {
        return IdPair{source.encode(pair.source), target.encode(pair.target)};
    };
    const auto fits = [&](const IdPair& ids) {
        return std::max(ids.source.size(), ids.target.size()) <= most;
    };
    for (const TextPair& pair : text.train) {
        IdPair ids = ids_of(pair);
        if (fits(ids))
            data.train.push_back(std::move(ids));
        else
            ++data.too_long;
    }
    const auto held_out = [&](const std::vector<TextPair>& pairs, const std::string& beside) {
        HeldOut all{{}, sources(pairs), targets(pairs), beside};
        Index cut = 0;
        for (const TextPair& pair : pairs) {
            IdPair& ids = all.ids.emplace_back(ids_of(pair));
            cut += !fits(ids);
            ids.source.resize(std::min(ids.source.size(), most));
            ids.target.resize(std::min(ids.target.size(), most));
        }
        if (cut > 0)
            all.beside += fmt::format("cut to the {} pieces that the model takes: {} of {} pairs\n",
                                      most, cut, pairs.size());
        return all;
    };
    data.dev = held_out(text.dev, text.beside_dev);
    data.test = held_out(text.test, text.beside_test);
    return data;
}
// [origin]
using nlohmann::json;

/// A line that differs for another text: how many pairs it has, and their checksum.
std::string fingerprint(const std::vector<TextPair>& pairs) {
    std::string all;
    for (const TextPair& pair : pairs) all += pair.source + '\t' + pair.target + '\n';
    return fmt::format("{} pairs, checksum {}", pairs.size(), checksum(all));
}

/// What a run must have in common with the run that it continues, without what affects no step.
json origin(const TrainOptions& o, const TransformerOptions& model, std::uint64_t seed,
            const ParallelText& text, const Team& team) {
    const TrainingOptions& t = o.run.training;
    json values = {{"model", json::parse(to_json(model))},
                   {"training",
                    {{"tokens", o.run.tokens},
                     {"accumulate", o.run.accumulate},
                     {"learning_rate", t.learning_rate},
                     {"warmup", t.warmup},
                     {"smoothing", t.smoothing},
                     {"clip", o.run.clip},
                     {"seed", seed}}},
                   {"data",
                    {{"pieces", o.pieces},
                     {"shared", o.shared},
                     {"tokenization", o.tokenization},
                     {"train", fingerprint(text.train)},
                     {"dev", fingerprint(text.dev)},
                     {"test", fingerprint(text.test)}}},
                   {"way", to_string(way())}};
    if (team.shards() > 1) values["training"]["shards"] = team.shards();
    if (team.bfloat16()) values["training"]["bfloat16"] = true;
    return values;
}
// [translator]
/// A translator in training, with everything that its run reads, writes and says.
struct TranslatorInTraining {
    const TrainOptions& options;
    const Team& team;  ///< its first process writes
    const RunFolder& folder;
    Results& results;
    std::string begun_with;  ///< as `origin` says it
    std::pair<Subwords, Subwords> subwords;
    TranslationData data;
    Transformer model;

    Symbols symbols = subwords.second.symbols();
    Notes notes = model_notes(model.options(), subwords.first, subwords.second);
    TrainingRun run{model, data.train, symbols, options.run, team};
    /// The loss of a model that knows only the words' frequencies.
    double known_loss = frequency_loss(data.train, model.options().tgt_words, symbols,
                                       static_cast<double>(options.run.training.smoothing));
    TextScoring scoring{
        [this](std::span<const std::int32_t> ids) { return subwords.second.decode(ids); },
        [this](std::span<const std::string> texts, std::span<const std::string> references) {
            return bleu(texts, references, {options.tokenization});
        }};
    Index dev = static_cast<Index>(data.dev.ids.size());
    std::vector<Index> samples{dev / 4, 2 * dev / 4, 3 * dev / 4};  ///< the pairs that are shown
    std::set<Index> needed = {};  ///< the epochs whose weights the newest state needs

    void describe();
    void go_on(const TensorFile& state);
    void save();
    void train();
    void choose();
    void report();

    Validation validated(const HeldOut& pairs) const {
        return validate(model, pairs, symbols, scoring, team);
    }
    /// Prints a line to the error stream, once for all processes.
    void say(const std::string& line) const {
        if (line.empty() || !team.first()) return;
        std::fflush(stdout);
        fmt::print(stderr, "{}\n", line);
    }
    /// The last epochs, whose weights are averaged.
    std::set<Index> last_epochs() const {
        std::set<Index> epochs;
        const Index last = run.progress().epochs.back().epoch;
        for (Index e = std::max<Index>(1, last - options.average + 1); e <= last; ++e)
            epochs.insert(e);
        return epochs;
    }
    std::vector<std::filesystem::path> files_of(const std::set<Index>& epochs) const {
        std::vector<std::filesystem::path> files;
        for (const Index epoch : epochs) files.push_back(folder.epoch_file(epoch));
        return files;
    }
};
// [describe]
void TranslatorInTraining::describe() {
    const TransformerOptions& o = model.options();
    const RunOptions& r = options.run;
    const Index parameters = count_elements(parameters_of(model));
    section("Model and training");
    fmt::print("{} and {} pieces of words, d_model {}, d_ff {}, {} heads, {} + {} layers\n",
               o.src_words, o.tgt_words, o.layer.attention.d_model, o.layer.d_ff,
               o.layer.attention.n_heads, o.n_encoder_layers, o.n_decoder_layers);
    fmt::print("{} parameters\n", parameters);
    fmt::print("{} batches of at most {} words per epoch, {} per step; at most {} epochs{}\n",
               run.batches(), r.tokens, r.accumulate, r.training.epochs,
               r.minutes > 0 ? fmt::format(", or {} minutes", r.minutes) : "");
    if (data.too_long > 0)
        fmt::print("{} training pairs are too long for the model and left out\n", data.too_long);
    fmt::print("\nThe translations below each epoch are of these sentences:\n");
    for (const Index i : samples) {
        const auto at = static_cast<std::size_t>(i);
        fmt::print("          {} = {}\n", printable(data.dev.sources[at]),
                   printable(data.dev.references[at]));
    }
    results.set("parameters", static_cast<double>(parameters));
    results.set("batches", static_cast<double>(run.batches()));
    results.set_varying("frequency_loss", known_loss);
    std::fflush(stdout);
}
// [go on]
/// Also reads the weights that the run will need at its end, so that it fails now if they are gone.
void TranslatorInTraining::go_on(const TensorFile& state) {
    go_on_from(state, run, begun_with);
    const RunProgress& p = run.progress();
    if (const auto found = state.metadata.find("needed"); found != state.metadata.end())
        needed = json::parse(found->second).get<std::set<Index>>();
    else if (!p.epochs.empty())  // an older state
        needed = {p.best().epoch, p.epochs.back().epoch};
    for (const std::filesystem::path& file : files_of(needed)) try {
            load_weights(file, model);
        } catch (const std::runtime_error& error) {
            throw std::runtime_error(fmt::format(
                "{}; this run needs the file at its end: put it back, or leave out --resume to "
                "begin a run",
                error.what()));
        }
    section("Training goes on");
    fmt::print("after step {}, epoch {}, batch {} of {}\n", p.step, p.epoch, p.batch,
               run.batches());
}
// [save]
void TranslatorInTraining::save() {
    Notes all = notes;
    all["needed"] = json(needed).dump();
    folder.save_state(run.progress().step, state_of(run, begun_with, all));
}
// [train]
void TranslatorInTraining::train() {
    section("Training");
    const RunProgress& p = run.progress();
    Progress bar("training", options.run.training.epochs * run.batches());
    folder.try_results();
    save();  // what cannot be saved is found out now, not after an epoch
    double clock = steady_ms(), saved = p.seconds;
    const auto took = [&](bool training) {  // since the last call
        const double before = std::exchange(clock, steady_ms());
        run.took((clock - before) / 1000, training);
    };
    while (!run.over()) {
        while (!run.epoch_over()) {
            const StepResult step = run.step();
            took(true);
            bar.show((p.epoch - 1) * run.batches() + p.batch, progress_text(run, step));
            if (p.seconds - saved < 60 * options.save_minutes) continue;
            save();
            saved = p.seconds;
        }
        const Validation validation = validated(data.dev);
        took(false);
        run.end_epoch(validation);
        bar.clear();
        print_epoch(p.epochs.back(), validation, samples);
        say(explain_bad_epoch(p.epochs, known_loss, options.run.training));
        folder.save_weights(folder.epoch_file(p.epochs.back().epoch), model, notes);
        std::set<Index> kept = std::exchange(needed, last_epochs());  // by the state before, too
        needed.insert(p.best().epoch);
        save();
        saved = p.seconds;
        kept.insert(needed.begin(), needed.end());
        folder.keep_epochs(files_of(kept));
    }
    fmt::print("\n{}\n", *run.over());
}
// [choose]
/// Keeps the best epoch's weights, or the mean of the last epochs' weights.
void TranslatorInTraining::choose() {
    section("The model that is kept");
    const EpochReport& best = run.progress().best();
    team.agreed(0);                        // waits until the last file is there
    auto files = files_of(last_epochs());  // fewer if the run began with a smaller --average
    std::erase_if(files, [](const auto& file) { return !std::filesystem::exists(file); });
    average_weights(files, model);
    const Validation average = validated(data.dev);
    fmt::print("epoch {}: dev loss {:.3f}, BLEU {:.2f}\n", best.epoch, best.dev_loss, best.bleu);
    fmt::print("mean of the last {} epochs: dev loss {:.3f}, BLEU {:.2f}\n", files.size(),
               average.loss, average.score);
    fmt::print("{}", data.dev.beside);
    // by loss, because by BLEU the luck that chose the best epoch would count twice
    const bool mean = average.loss < best.dev_loss;
    if (!mean) average_weights({folder.epoch_file(best.epoch)}, model);
    Notes all = notes;
    all["made"] = fmt::format("{} of {}, seed {}, {} pairs, way {}",
                              mean ? fmt::format("the mean of the last {} epochs", files.size())
                                   : fmt::format("epoch {}", best.epoch),
                              run.progress().epochs.back().epoch, model.random().seed(),
                              data.train.size(), to_string(way()));
    folder.save_weights(folder.model_file(), model, all);
    fmt::print("{} is kept: {}\n", mean ? "the mean" : "the best epoch",
               printable(std::filesystem::proximate(folder.model_file()).string()));
    results.set_varying("best_epoch", static_cast<double>(best.epoch));
    results.set_varying("best_bleu", best.bleu);
    results.set_varying("average_bleu", average.score);
    results.set_varying("averaged", static_cast<double>(files.size()));
    results.set_varying("dev_bleu", mean ? average.score : best.bleu);
    results.set_varying("dev_loss", mean ? average.loss : best.dev_loss);
}
// [report]
/// Reports on the test pairs, by which nothing was chosen.
void TranslatorInTraining::report() {
    const RunProgress& p = run.progress();
    const EpochReport& last = p.epochs.back();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    results.set_varying("epochs", static_cast<double>(last.epoch));
    results.set_varying("steps", static_cast<double>(last.steps));
    results.set_varying("training_seconds", p.seconds, "s");
    results.set_varying("words_per_second", last.tokens_per_second, "1/s");
    results.set_varying("memory", static_cast<double>(usage.ru_maxrss) / 1024, "MiB");
    results.set_varying("first_loss", p.epochs.front().loss);
    results.set_varying("final_loss", last.loss);
    results.set_varying("final_dev_loss", last.dev_loss);
    write_curves(p.epochs, results);
    if (data.test.ids.empty()) return;
    section("Sentences that nothing was chosen by");
    const Validation test = validated(data.test);
    const double score = bleu(test.translations, data.test.references, {options.tokenization});
    fmt::print("{} pairs: loss {:.3f}, perplexity {:.2f}, BLEU {:.2f}\n{}\n{}",
               data.test.ids.size(), test.loss, std::exp(test.loss), score,
               signature_of(bleu_metric({options.tokenization})), data.test.beside);
    folder.save_texts("source", data.test.sources);
    folder.save_texts("reference", data.test.references);
    folder.save_texts("translation", test.translations);
    results.set_varying("test_loss", test.loss);
    results.set_varying("test_perplexity", std::exp(test.loss));
    results.set_varying("test_bleu", score);

    const Translated translated{data.test, test.translations};
    section("Sentences and their translations");
    show_samples(translated, 8);
    section("By length of the source");
    show_by_length(translated, scoring, results);
    section("By width of the beam, development pairs");
    show_beams(model, data.dev, symbols, scoring, results, team);
}

/// The newest state of a run, for the whole team.
TensorFile read_state(const RunFolder& folder, const Team& team) {
    std::optional<TensorFile> state;
    if (team.first()) state = folder.newest_state();
    const double step = team.agreed(state ? static_cast<double>(step_of(*state)) : 0);
    return state ? std::move(*state) : load_checked(folder.state_file(static_cast<Index>(step)));
}

}  // namespace
// [command]
void TrainCommand::run(Results& results, std::uint64_t seed, const Team& team) {
    if (options_.quick) use_quick_defaults();
    if (options_.folder.empty()) options_.folder = default_run_folder(seed, name_);
    const TrainOptions& o = options_;
    team.require_same(json{{"options",
                            {{"resume", o.resume},
                             {"save-minutes", o.save_minutes},
                             {"average", o.average},
                             {"epochs", o.run.training.epochs},
                             {"minutes", o.run.minutes},
                             {"patience", o.run.patience}}}}
                          .dump());
    const RunFolder folder(options_.folder, team.first());
    std::optional<TensorFile> state;
    if (options_.resume) state = read_state(folder, team);

    const RunText text = read_text(options_, results);
    auto subwords = state ? subwords_of(state->metadata)
                          : learn_subwords(text.train, options_.pieces, options_.shared);
    const TransformerOptions sizes =
        model_options(options_, subwords.first.size(), subwords.second.size());
    const std::string begun_with = origin(options_, sizes, seed, text, team).dump();
    team.require_same(begun_with);
    TranslationData data =
        encode_text(text, subwords.first, subwords.second, sizes.positions.max_len);
    TranslatorInTraining translator{.options = options_,
                                    .team = team,
                                    .folder = folder,
                                    .results = results,
                                    .begun_with = begun_with,
                                    .subwords = std::move(subwords),
                                    .data = std::move(data),
                                    .model = Transformer(sizes, Random(seed))};
    translator.describe();
    if (state) translator.go_on(*state);
    if (!state && folder.set_aside())
        fmt::print("moved the files of the run in {0} to {0}/previous\n",
                   printable(options_.folder.string()));
    state.reset();
    translator.train();
    translator.choose();
    translator.report();
}

}  // namespace abh
