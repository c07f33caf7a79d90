#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "chapters/13_real_translation/commands.hpp"
#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "lib/io/text.hpp"
#include "lib/precision.hpp"
#include "lib/way.hpp"

namespace abh {
// [options]
TrainCommand::TrainCommand(Options& parent, std::string name)
    : parent_(parent), name_(std::move(name)) {
    parent.command("train", "train a translator (default)");
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
// [text]
namespace {

/// Pairs, and what is to be said beside scores of theirs: which lines of a file do not count.
struct RunText : ParallelText {
    std::string beside_dev, beside_test;
};

/// Reads the pairs that the options name, and prints and records how many there are.
RunText read_text(const TrainOptions& options, Results& results) {
    std::string said;
    const auto read = [&](const std::string& files, const CleanOptions& clean,
                          std::string* beside = nullptr) {
        CleanCounts counts;
        auto pairs = read_pairs(PairFiles::parse(files), clean, &counts);
        const std::string summary = fmt::format("{}: {}\n", printable(files), counts.summary());
        if (beside && counts.kept < counts.read()) *beside = "scored: " + summary;
        said += summary;
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
std::pair<Subwords, Subwords> learn_subwords(const std::vector<TextPair>& train, Index n_pieces,
                                             bool shared) {
    if (shared) {
        const Subwords both = Subwords::train(both_sides(train), n_pieces);
        return {both, both};
    }
    return {Subwords::train(sources(train), n_pieces), Subwords::train(targets(train), n_pieces)};
}
// [encode]
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
// [model]
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
    if (precision() != Precision::single) values["training"]["precision"] = to_string(precision());
    return values;
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
    if (options_.resume) state = folder.state();

    const RunText text = read_text(options_, results);
    auto subwords =
        state ? subwords_of(*state) : learn_subwords(text.train, options_.pieces, options_.shared);
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
