#include "chapters/13_real_translation/practice/translator_in_training.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "chapters/13_real_translation/practice/training_report.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "lib/io/text.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/way.hpp"

namespace abh {
// [scoring]
TextScoring scoring_of(const Subwords& subwords, const TrainOptions& options) {
    return {[&](std::span<const std::int32_t> ids) { return subwords.decode(ids); },
            [&](std::span<const std::string> texts, std::span<const std::string> references) {
                return bleu(texts, references, {options.tokenization});
            }};
}
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
void TranslatorInTraining::go_on(const TensorFile& state) {
    go_on_from(state, run, begun_with);
    const RunProgress& p = run.progress();
    kept = nlohmann::json::parse(note(state.metadata, "kept")).get<std::set<Index>>();
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
    results.set_varying("best_epoch", static_cast<double>(best.epoch));
    results.set_varying("best_bleu", best.bleu);
    results.set_varying("average_bleu", average.score);
    results.set_varying("averaged", static_cast<double>(files.size()));
    results.set_varying("dev_bleu", mean ? average.score : best.bleu);
    results.set_varying("dev_loss", mean ? average.loss : best.dev_loss);
}
// [report]
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
               signature_of({options.tokenization}), data.test.beside);
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

}  // namespace abh
