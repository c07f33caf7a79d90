#include "chapters/13_real_translation/train_command.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "chapters/13_real_translation/data/tatoeba.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/practice/checked_file.hpp"
#include "chapters/13_real_translation/practice/training_report.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "chapters/13_real_translation/scores/error_report.hpp"
#include "lib/program/program.hpp"
#include "lib/way.hpp"

namespace abh {
// [options]
TrainCommand::TrainCommand(Options& parent, std::string name)
    : parent_(parent),
      name_(std::move(name)),
      command_(parent.command("train", "train a translator (default)")) {
    TrainOptions& o = options_;
    PracticeOptions& p = o.practice;
    p.epochs = 28;
    parent.add("--train", o.train, "pairs to train on: FILE, or SOURCE,TARGET");
    parent.add("--dev", o.dev, "pairs to choose by; none: some of those of --train");
    parent.add("--test", o.test, "pairs to report on; likewise");
    parent.add("--save", o.folder, "folder of the run (default: checkpoints/...)");
    parent.flag("--resume", o.resume, "go on with the run in that folder");
    parent.flag("--quick", o.quick, "a small model, and five epochs");
    parent.add("--epochs", p.epochs, "at most").range(1, 100'000);
    parent.add("--minutes", p.minutes, "begin no epoch that would end later; 0: any");
    parent.add("--patience", p.patience, "epochs without a better BLEU or loss; 0: any");
    parent.add("--save-minutes", o.save_minutes, "between two states of the run");
    parent.add("--average", o.average, "last epochs whose weights are averaged").range(1, 100);
    parent.add("--tokenization", o.tokenization, "of BLEU: 13a, zh, char or none")
        .one_of({"13a", "zh", "char", "none"});
    parent.add("--pieces", o.pieces, "of each vocabulary").range(270, 100'000);
    parent.flag("--shared", o.shared, "one vocabulary for both languages");
    parent.add("--d-model", o.d_model, "numbers in a word's row");
    parent.add("--d-ff", o.d_ff, "numbers in a hidden row");
    parent.add("--heads", o.n_heads, "of attention");
    parent.add("--layers", o.n_layers, "of the encoder, and of the decoder");
    parent.add("--dropout", o.dropout, "probability");
    parent.add("--tokens", p.tokens, "words of a batch, source and target");
    parent.add("--accumulate", p.accumulate, "batches of a step");
    parent.add("--lr", p.learning_rate, "learning rate at its peak");
    parent.add("--warmup", p.warmup, "steps of growing learning rate");
    parent.add("--smoothing", p.smoothing, "of the targets");
    parent.add("--clip", p.clip, "largest norm of the gradients; 0: any");
}

void TrainCommand::use_quick_defaults() {
    const auto set = [&](const char* name, auto& option, auto value) {
        if (!parent_.given(name)) option = value;
    };
    set("--epochs", options_.practice.epochs, Index{5});
    set("--tokens", options_.practice.tokens, Index{1024});
    set("--d-model", options_.d_model, Index{128});
    set("--d-ff", options_.d_ff, Index{256});
    set("--layers", options_.n_layers, Index{2});
    set("--pieces", options_.pieces, Index{4500});
    set("--dropout", options_.dropout, Real(0.1));
    set("--warmup", options_.practice.warmup, Index{200});
    set("--lr", options_.practice.learning_rate, Real(3e-3));
}
// [model]
TransformerOptions TrainCommand::model_options(Index src_words, Index tgt_words) const {
    TransformerOptions o;
    o.src_words = src_words;
    o.tgt_words = tgt_words;
    o.n_encoder_layers = o.n_decoder_layers = options_.n_layers;
    o.layer.attention.d_model = options_.d_model;
    o.layer.attention.n_heads = options_.n_heads;
    o.layer.d_ff = options_.d_ff;
    o.layer.add_norm.dropout = options_.dropout;
    o.embedding = {.scale = true, .padding_id = 0};
    o.tied = options_.shared ? Tied::all : Tied::target;
    o.positions = {.kind = Positions::sinusoid, .max_len = 256, .dropout = options_.dropout};
    return o;
}
// [text]
ParallelText TrainCommand::read_text(Results& results) const {
    CleanCounts counts;
    const auto read = [&](const std::string& files) {
        return read_pairs(PairFiles::parse(files), {}, &counts);
    };
    ParallelText text;
    if (options_.train.empty()) {
        require(options_.dev.empty() && options_.test.empty(),
                "--dev and --test belong to pairs of --train");
        text = tatoeba(&counts);
    } else {
        text.train = read(options_.train);
        const Index some = std::min<Index>(1000, static_cast<Index>(text.train.size()) / 10);
        if (options_.dev.empty())
            text = split_pairs(text.train, some, options_.test.empty() ? some : 0);
        if (!options_.dev.empty()) text.dev = read(options_.dev);
        require(!text.dev.empty(),
                "no pairs to choose by: give some with --dev, or ten at least with --train");
        if (!options_.test.empty()) text.test = read(options_.test);
    }
    section("Data");
    fmt::print("{}\n{} to train on, {} to choose by, {} to report on\n", counts.summary(),
               text.train.size(), text.dev.size(), text.test.size());
    results.set("train_pairs", static_cast<double>(text.train.size()));
    results.set("dev_pairs", static_cast<double>(text.dev.size()));
    results.set("test_pairs", static_cast<double>(text.test.size()));
    return text;
}
// [origin]
/// What a run must have in common with the one that it goes on with. What touches no step is left
/// out.
std::string TrainCommand::origin(const TransformerOptions& model, const ParallelText& text,
                                 const Team& team) const {
    const PracticeOptions& p = options_.practice;
    nlohmann::json values = {
        {"model", nlohmann::json::parse(to_json(model))},
        {"training",
         {{"tokens", p.tokens},
          {"accumulate", p.accumulate},
          {"learning_rate", p.learning_rate},
          {"warmup", p.warmup},
          {"smoothing", p.smoothing},
          {"clip", p.clip},
          {"seed", p.seed}}},
        {"data",
         {{"pieces", options_.pieces},
          {"shared", options_.shared},
          {"tokenization", options_.tokenization},
          {"train", fingerprint(text.train)},
          {"dev", fingerprint(text.dev)},
          {"test", fingerprint(text.test)}}},
        {"way", to_string(way())},
    };
    if (team.shards() > 1) values["training"]["shards"] = team.shards();
    if (team.bfloat16()) values["training"]["bfloat16"] = true;
    return values.dump();
}
/// What decides how the run goes on, and not what a step computes: for processes to compare.
std::string TrainCommand::course() const {
    const PracticeOptions& p = options_.practice;
    const nlohmann::json options = {
        {"resume", options_.resume},   {"save-minutes", options_.save_minutes},
        {"average", options_.average}, {"epochs", p.epochs},
        {"minutes", p.minutes},        {"patience", p.patience}};
    return nlohmann::json{{"options", options}}.dump();
}
// [the run]
namespace {

/// A run with everything that it reads, writes and says.
class TrainingRun {
public:
    TrainingRun(const TrainOptions& options, const ParallelText& text, TransformerOptions sizes,
                std::pair<Subwords, Subwords> subwords, Results& results, const Team& team)
        : options_(options),
          results_(results),
          team_(team),
          subwords_(std::move(subwords)),
          data_(encode_text(text, subwords_.first, subwords_.second, sizes.positions.max_len)),
          notes_(model_notes(sizes, subwords_.first, subwords_.second)),
          model_(sizes, Random(options.practice.seed)),
          practice_(model_, data_.train, symbols_, options.practice, team) {
        for (Index i = 1; i <= 3; ++i)
            samples_.push_back(i * static_cast<Index>(data_.dev.ids.size()) / 4);
    }

    void describe();
    void go_on(const TensorFile& state, const std::string& origin);
    void train(const RunFolder& folder, const std::string& origin);
    void choose(const RunFolder& folder);
    void report(const RunFolder& folder);
    void say_if_cut_short() const;

private:
    void report_errors(const Translated& test);
    Validation validated(const HeldOut& pairs) const {
        return validate(model_, pairs, symbols_, scoring_, team_);
    }
    void epoch_ended(const EpochReport& report, const Validation& validation,
                     const RunFolder& folder);
    std::vector<Index> last_epochs() const;

    const TrainOptions& options_;
    Results& results_;
    const Team& team_;  ///< whose first process writes
    std::pair<Subwords, Subwords> subwords_;
    Symbols symbols_{subwords_.second.pad(), subwords_.second.start(), subwords_.second.end()};
    TranslationData data_;
    Notes notes_;
    Transformer model_;
    Practice practice_;
    TextScoring scoring_{
        [this](std::span<const std::int32_t> ids) { return subwords_.second.decode(ids); },
        [this](std::span<const std::string> texts, std::span<const std::string> references) {
            return bleu(texts, references, {options_.tokenization});
        }};
    std::vector<Index> samples_;  ///< development pairs whose translations are shown
};
// [describe]
void TrainingRun::describe() {
    const TransformerOptions& o = model_.options();
    const PracticeOptions& p = options_.practice;
    section("Model and training");
    fmt::print("{} and {} pieces of words, d_model {}, d_ff {}, {} heads, {} + {} layers\n",
               o.src_words, o.tgt_words, o.layer.attention.d_model, o.layer.d_ff,
               o.layer.attention.n_heads, o.n_encoder_layers, o.n_decoder_layers);
    const Index parameters = count_elements(parameters_of(model_));
    fmt::print("{} parameters\n", parameters);
    fmt::print("{} batches of at most {} words an epoch, {} a step; at most {} epochs{}\n",
               practice_.batches(), p.tokens, p.accumulate, p.epochs,
               p.minutes > 0 ? fmt::format(", or {} minutes", p.minutes) : "");
    if (data_.too_long + data_.cut > 0)
        fmt::print("{} pairs are too long for the model and left out, {} held-out ones are cut\n",
                   data_.too_long, data_.cut);
    fmt::print("\nThe translations below each epoch are of these sentences:\n");
    for (const Index i : samples_) {
        const auto at = static_cast<std::size_t>(i);
        fmt::print("          {} = {}\n", printable(data_.dev.sources[at]),
                   printable(data_.dev.references[at]));
    }
    results_.set("parameters", static_cast<double>(parameters));
    results_.set("batches", static_cast<double>(practice_.batches()));
    results_.set_varying("frequency_loss", frequency_loss(data_.train, o.tgt_words, symbols_,
                                                          static_cast<double>(p.smoothing)));
    std::fflush(stdout);
}
// [go on]
void TrainingRun::go_on(const TensorFile& state, const std::string& origin) {
    go_on_from(state, practice_, origin);
    const std::string threads = explain_threads(state);
    if (!threads.empty() && team_.first()) fmt::print(stderr, "{}\n", threads);
    const RunProgress& p = practice_.progress();
    section("Training goes on");
    fmt::print("after step {}, epoch {}, batch {} of {}\n", p.step, p.epoch, p.batch,
               practice_.batches());
}
// [train]
void TrainingRun::train(const RunFolder& folder, const std::string& origin) {
    section("Training");
    TrainingProgress progress(practice_);
    double saved = practice_.progress().seconds;
    const std::string why = practise(
        practice_, [&](const Transformer&) { return validated(data_.dev); },
        {.step = [&](const PracticeStep& step) { progress.step(step); },
         .epoch =
             [&](const EpochReport& report, const Validation& validation) {
                 progress.clear();
                 epoch_ended(report, validation, folder);
             },
         .safe_place =
             [&](bool epoch_over) {
                 const double now = practice_.progress().seconds;
                 if (!epoch_over && now - saved < 60 * options_.save_minutes) return;
                 folder.save_state(practice_.progress().step, state_of(practice_, origin, notes_));
                 saved = now;
                 if (!epoch_over) return;
                 std::vector<Index> epochs = last_epochs();
                 epochs.push_back(practice_.progress().best()->epoch);
                 folder.keep_epochs(epochs);
             }});
    progress.clear();
    fmt::print("\n{}\n", why);
}

void TrainingRun::epoch_ended(const EpochReport& report, const Validation& validation,
                              const RunFolder& folder) {
    print_epoch(report, validation, samples_);
    const std::vector<EpochReport>& epochs = practice_.progress().epochs;
    const Index before = epochs.size() > 1 ? epochs[epochs.size() - 2].steps : 0;
    const PracticeOptions& p = options_.practice;
    const double known = frequency_loss(data_.train, model_.options().tgt_words, symbols_,
                                        static_cast<double>(p.smoothing));
    const std::string bad = explain_bad_epoch(report, before, known, p);
    if (!bad.empty() && team_.first()) fmt::print(stderr, "{}\n", bad);
    folder.save_epoch(report.epoch, model_, notes_);
}

/// Those whose weights are averaged.
std::vector<Index> TrainingRun::last_epochs() const {
    const Index last = practice_.progress().epochs.back().epoch;
    std::vector<Index> epochs;
    for (Index e = std::max<Index>(1, last - options_.average + 1); e <= last; ++e)
        epochs.push_back(e);
    return epochs;
}
// [choose]
/// Relative to the working directory where it lies below it.
std::string shown(const std::filesystem::path& path) {
    std::error_code unknown;
    const std::filesystem::path near = std::filesystem::proximate(path, unknown);
    return printable((near.empty() || *near.begin() == ".." ? path : near).string());
}

/// The best epoch's weights, or the mean of the last ones.
void TrainingRun::choose(const RunFolder& folder) {
    section("The model that is kept");
    const EpochReport best = *practice_.progress().best();
    team_.agreed(0);  // the last file is there
    std::vector<std::filesystem::path> files;
    for (const Index e : last_epochs())  // a run that was begun with fewer has kept no more
        if (std::filesystem::exists(folder.epoch_file(e))) files.push_back(folder.epoch_file(e));
    average_weights(files, model_);
    const Validation average = validated(data_.dev);
    fmt::print("epoch {}: dev loss {:.3f}, BLEU {:.2f}\n", best.epoch, best.dev_loss, best.bleu);
    fmt::print("mean of the last {} epochs: dev loss {:.3f}, BLEU {:.2f}\n", files.size(),
               average.loss, average.score);
    const bool mean = practice_.progress().keeps_mean(average.loss);
    if (!mean) average_weights({folder.epoch_file(best.epoch)}, model_);
    folder.save_model(model_, notes_);
    fmt::print("{} is kept: {}\n", mean ? "the mean" : "the best epoch",
               shown(folder.model_file()));
    results_.set_varying("best_epoch", static_cast<double>(best.epoch));
    results_.set_varying("best_bleu", best.bleu);
    results_.set_varying("average_bleu", average.score);
    results_.set_varying("averaged", static_cast<double>(files.size()));
    results_.set_varying("dev_bleu", mean ? average.score : best.bleu);
    results_.set_varying("dev_loss", mean ? average.loss : best.dev_loss);
}
// [report]
/// What the test pairs say, which nothing was chosen by.
void TrainingRun::report(const RunFolder& folder) {
    const RunProgress& p = practice_.progress();
    const EpochReport& last = p.epochs.back();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    results_.set_varying("epochs", static_cast<double>(last.epoch));
    results_.set_varying("steps", static_cast<double>(last.steps));
    results_.set_varying("training_seconds", p.seconds, "s");
    results_.set_varying("words_per_second", last.tokens_per_second, "1/s");
    results_.set_varying("memory", static_cast<double>(usage.ru_maxrss) / 1024, "MiB");
    results_.set_varying("first_loss", p.epochs.front().loss);
    results_.set_varying("final_loss", last.loss);
    results_.set_varying("final_dev_loss", last.dev_loss);
    write_curves(p.epochs, results_);
    if (data_.test.ids.empty()) return;
    section("Sentences that nothing was chosen by");
    const Validation test = validated(data_.test);
    const double score = bleu(test.translations, data_.test.references, {options_.tokenization});
    fmt::print("{} pairs: loss {:.3f}, perplexity {:.2f}, BLEU {:.2f}\n{}\n", data_.test.ids.size(),
               test.loss, std::exp(test.loss), score,
               signature_of(bleu_metric({options_.tokenization})));
    folder.save_texts("source", data_.test.sources);
    folder.save_texts("reference", data_.test.references);
    folder.save_texts("translation", test.translations);
    results_.set_varying("test_loss", test.loss);
    results_.set_varying("test_perplexity", std::exp(test.loss));
    results_.set_varying("test_bleu", score);
    report_errors({data_.test, test.translations});
}

/// At the very end, where nobody misses it.
void TrainingRun::say_if_cut_short() const {
    const std::string cost = practice_.cut_short();
    if (cost.empty() || !team_.first()) return;
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", cost);
}

void TrainingRun::report_errors(const Translated& test) {
    section("Sentences and their translations");
    show_samples(test, 8);
    section("By length of the source");
    show_by_length(test, scoring_, results_);
    section("By width of the beam, development pairs");
    show_beams(model_, data_.dev, symbols_, scoring_, results_, team_);
    record_attention(model_, test, subwords_, symbols_, results_);
}

/// What a run was begun with, and the vocabularies that it has.
std::string with_vocabulary(const std::string& begun_with,
                            const std::pair<Subwords, Subwords>& subwords) {
    nlohmann::json values = nlohmann::json::parse(begun_with);
    values["vocabulary"] = {{"source", checksum(subwords.first.model())},
                            {"target", checksum(subwords.second.model())}};
    return values.dump();
}

/// The newest state of a run, for all of the team.
TensorFile read_state(const RunFolder& folder, const Team& team) {
    std::optional<TensorFile> state;
    if (team.first()) {
        std::vector<std::string> damaged;
        state = folder.newest_state(damaged);
        for (const std::string& line : damaged) fmt::print(stderr, "{}\n", line);
    }
    const double step = team.agreed(state ? static_cast<double>(step_of(*state)) : 0);
    return state ? std::move(*state) : load_checked(folder.state_file(static_cast<Index>(step)));
}

}  // namespace
// [command]
void TrainCommand::run(Results& results, std::uint64_t seed, const Team& team) {
    if (options_.quick) use_quick_defaults();
    options_.practice.seed = seed;
    if (options_.folder.empty()) options_.folder = default_run_folder(seed, name_);
    team.require_same(course());
    RunFolder folder(options_.folder, team.first());
    std::optional<TensorFile> state;
    if (options_.resume) state = read_state(folder, team);

    const ParallelText text = read_text(results);
    auto subwords = state ? subwords_of(state->metadata)
                          : learn_subwords(text.train, options_.pieces, options_.shared);
    const TransformerOptions sizes = model_options(subwords.first.size(), subwords.second.size());
    const std::string begun_with = origin(sizes, text, team);
    team.require_same(with_vocabulary(begun_with, subwords));
    TrainingRun run(options_, text, sizes, std::move(subwords), results, team);
    run.describe();
    if (state) run.go_on(*state, begun_with);
    if (!state && folder.set_aside())
        fmt::print("what stood in {} is in its folder previous now\n",
                   printable(options_.folder.string()));
    state.reset();
    run.train(folder, begun_with);
    run.choose(folder);
    run.report(folder);
    run.say_if_cut_short();
}

}  // namespace abh
