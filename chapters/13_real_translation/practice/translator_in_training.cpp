#include "chapters/13_real_translation/practice/translator_in_training.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/13_real_translation/search/beam_search.hpp"
#include "lib/io/text.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/way.hpp"

namespace abh {
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
    results.set("parameters", parameters);
    results.set("batches", run.batches());
    results.set_varying("frequency_loss", known_loss);
    std::fflush(stdout);
}
// [score]
TextScoring TranslatorInTraining::scored_as_text() const {
    return {[this](std::span<const std::int32_t> ids) { return subwords.second.decode(ids); },
            [this](std::span<const std::string> texts, std::span<const std::string> references) {
                return bleu(texts, references, {options.tokenization});
            }};
}
// [go on]
void TranslatorInTraining::go_on(const TensorFile& state) {
    go_on_from(state, run, begun_with);
    const RunProgress& p = run.progress();
    kept = nlohmann::json::parse(note(state, "kept")).get<std::set<Index>>();
    for (const Index epoch : kept) try {
            load_weights(folder.epoch_file(epoch), model);
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
    all["kept"] = nlohmann::json(kept).dump();
    folder.save(folder.state_file(), state_of(run, begun_with, all));
}
// [progress]
std::string clock_text(double seconds) {
    const auto all = static_cast<Index>(std::max(seconds, 0.0));
    const Index hours = all / 3600, minutes = all / 60 % 60;
    return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60)
                     : fmt::format("{}:{:02}", minutes, all % 60);
}

namespace {

/// The time left is an estimate, for a run that takes all its epochs or minutes.
std::string progress_text(const TrainingRun& run, const StepResult& step) {
    const RunProgress& p = run.progress();
    const double done = static_cast<double>(p.epoch - 1) +
                        static_cast<double>(p.batch) / static_cast<double>(run.batches());
    const double all = static_cast<double>(run.options().training.epochs);
    double left = p.seconds * (all - done) / done;  // done > 0 after a step
    if (run.options().minutes > 0) left = std::min(left, 60 * run.options().minutes - p.seconds);
    const double speed = p.epoch_seconds > 0 ? static_cast<double>(p.tokens) / p.epoch_seconds : 0;
    return fmt::format(
        "epoch {}, batch {} of {}  loss {:.3f}  learning rate {:.1e}  {:.0f} words/s  {} left",
        p.epoch, p.batch, run.batches(), step.loss, step.learning_rate, speed, clock_text(left));
}
// [epochs]
/// Prints a line for an epoch, and the translations of a few sentences.
void print_epoch(const EpochReport& report, const Validation& validation,
                 std::span<const Index> samples) {
    fmt::print(
        "epoch {:2}  loss {:.3f}  dev loss {:.3f}  perplexity {:7.2f}  BLEU {:5.2f}  {} after the "
        "start, {:.0f} words/s\n",
        report.epoch, report.loss, report.dev_loss, std::exp(report.dev_loss), report.bleu,
        clock_text(report.seconds), report.tokens_per_second);
    for (const Index i : samples)
        fmt::print("          {}\n",
                   printable(validation.translations[static_cast<std::size_t>(i)]));
    std::fflush(stdout);
}
}  // namespace
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
        const std::string bad = explain_bad_epoch(p.epochs, known_loss, options.run.training);
        if (!bad.empty() && team.first()) fmt::print(stderr, "{}\n", bad);
        folder.save(folder.epoch_file(p.epochs.back().epoch), weights_of(model, notes));
        kept = last_epochs();
        kept.insert(p.best().epoch);
        save();
        saved = p.seconds;
        folder.keep_epochs(kept);
    }
    fmt::print("\n{}\n", *run.over());
}
// [choose]
void TranslatorInTraining::choose() {
    section("The model that is kept");
    const EpochReport& best = run.progress().best();
    team.agreed(0);  // waits until the last file is there
    std::vector<std::filesystem::path> files;
    for (const Index epoch : last_epochs())  // fewer if the run began with a smaller --average
        if (const auto file = folder.epoch_file(epoch); std::filesystem::exists(file))
            files.push_back(file);
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
    folder.save(folder.model_file(), weights_of(model, all));
    fmt::print("{} is kept: {}\n", mean ? "the mean" : "the best epoch",
               printable(std::filesystem::proximate(folder.model_file()).string()));
    results.set_varying("best_epoch", best.epoch);
    results.set_varying("best_bleu", best.bleu);
    results.set_varying("average_bleu", average.score);
    results.set_varying("averaged", files.size());
    results.set_varying("dev_bleu", mean ? average.score : best.bleu);
    results.set_varying("dev_loss", mean ? average.loss : best.dev_loss);
}
// [curves]
namespace {

/// Writes the learning curves: an array each for loss, development loss and BLEU.
void write_curves(std::span<const EpochReport> epochs, Results& results) {
    const auto curve = [&](const char* name, double EpochReport::*field) {
        Tensor values({static_cast<Index>(epochs.size())});
        for (Index i = 0; const EpochReport& e : epochs) values(i++) = static_cast<Real>(e.*field);
        results.array(name, values);
    };
    curve("curve_loss", &EpochReport::loss);
    curve("curve_dev_loss", &EpochReport::dev_loss);
    curve("curve_bleu", &EpochReport::bleu);
}
// [samples]
/// Prints sources, references and translations of `n` evenly spaced sentences.
void show_samples(const HeldOut& pairs, const std::vector<std::string>& translations,
                  std::size_t n) {
    const std::size_t all = translations.size(), shown = std::min(n, all);
    for (std::size_t k = 0; k < shown; ++k) {
        const std::size_t i = (2 * k + 1) * all / (2 * shown);
        fmt::print("{}\n    reference    {}\n    translation  {}\n", printable(pairs.sources[i]),
                   printable(pairs.references[i]), printable(translations[i]));
    }
}
// [by length]
/// Prints, for the sentences in four parts by the length of the source, BLEU and the share of
/// translations that equal their reference.
void show_by_length(const HeldOut& pairs, const std::vector<std::string>& translations,
                    const TextScoring& scoring, Results& results) {
    std::vector<std::size_t> sorted;
    for (const IdPair& pair : pairs.ids) sorted.push_back(pair.source.size());
    std::ranges::sort(sorted);
    Table table(results, {{"pieces", "<10"},
                          {"sentences", "9"},
                          varying("BLEU", "6.1f", "length_{}_bleu"),
                          varying("the same %", "10.0f", "length_{}_same")});
    for (std::size_t part = 0, first = sorted.front(); part < 4; ++part) {
        const std::size_t last =
            sorted[std::max<std::size_t>((part + 1) * sorted.size() / 4, 1) - 1];
        std::vector<std::string> said, references;
        double same = 0;
        for (std::size_t i = 0; i < translations.size(); ++i) {
            const std::size_t length = pairs.ids[i].source.size();
            if (length < first || length > last) continue;
            said.push_back(translations[i]);
            references.push_back(pairs.references[i]);
            same += said.back() == references.back();
        }
        if (references.empty()) continue;  // too many sources are equally long
        table.row(part, fmt::format("{} to {}", first, last), references.size(),
                  scoring.score(said, references),
                  100 * same / static_cast<double>(references.size()));
        first = last + 1;
    }
}
// [beams]
/// Prints scores and speed of beam search on the development sentences, for several widths.
void show_beams(const TranslatorInTraining& t) {
    const HeldOut& dev = t.data.dev;
    Table table(t.results, {{"beam", "4"},
                            varying("BLEU, sums", "10.2f", "beam_{}_sums_bleu"),
                            varying("length", "6.3f", "beam_{}_sums_length"),
                            varying("BLEU, means", "11.2f", "beam_{}_bleu"),
                            varying("length", "6.3f", "beam_{}_length"),
                            varying("sentences/s", "11.0f", "beam_{}_speed", "1/s")});
    const auto words = [](const std::vector<std::string>& texts) {
        return static_cast<double>(score_words(join_words(texts)).size());
    };
    for (const Index beam : {1, 2, 4, 8}) {
        BeamOptions options{
            .start = t.symbols.start, .end = t.symbols.end, .beam = beam, .never = {t.symbols.pad}};
        const auto translate = [&](const auto sources) {
            std::vector<std::vector<std::int32_t>> translations;
            for (const auto& of : beam_search(t.model, source_batch(sources, t.symbols), options))
                translations.push_back(of.front().ids);
            return translations;
        };
        std::array<double, 2> score{}, length{};  // by sums, by means
        double ms = 0;
        for (std::size_t alpha = 0; alpha < 2; ++alpha) {
            options.length_penalty = static_cast<Real>(alpha);
            std::vector<std::string> texts;
            ms = milliseconds([&] {
                for (const auto& ids : share_sentences(dev.ids, 64, t.team, translate))
                    texts.push_back(t.scoring.text(ids));
            });
            score[alpha] = t.scoring.score(texts, dev.references);
            length[alpha] = words(texts) / words(dev.references);
        }
        table.row(beam, beam, score[0], length[0], score[1], length[1],
                  1000 * static_cast<double>(dev.ids.size()) / ms);
    }
}

}  // namespace
// [report]
void TranslatorInTraining::report() {
    const RunProgress& p = run.progress();
    const EpochReport& last = p.epochs.back();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    results.set_varying("epochs", last.epoch);
    results.set_varying("steps", last.steps);
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
    fmt::print("{} pairs: loss {:.3f}, perplexity {:.2f}, BLEU {:.2f}\n{}\n{}",
               data.test.ids.size(), test.loss, std::exp(test.loss), test.score,
               signature_of({options.tokenization}), data.test.beside);
    folder.save_texts("source", data.test.sources);
    folder.save_texts("reference", data.test.references);
    folder.save_texts("translation", test.translations);
    results.set_varying("test_loss", test.loss);
    results.set_varying("test_perplexity", std::exp(test.loss));
    results.set_varying("test_bleu", test.score);

    section("Sentences and their translations");
    show_samples(data.test, test.translations, 10);
    section("By length of the source");
    show_by_length(data.test, test.translations, scoring, results);
    section("By width of the beam, development pairs");
    show_beams(*this);
}

}  // namespace abh
