#include "chapters/13_real_translation/practice/training_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/scores/scores.hpp"
#include "chapters/13_real_translation/search/beam_search.hpp"
#include "lib/program/output.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [progress]
std::string clock_text(double seconds) {
    const auto all = static_cast<Index>(std::max(seconds, 0.0));
    const Index hours = all / 3600, minutes = all / 60 % 60;
    return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60)
                     : fmt::format("{}:{:02}", minutes, all % 60);
}

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
// [curves]
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
void show_samples(const Translated& test, std::size_t n) {
    const std::size_t all = test.translations.size(), shown = std::min(n, all);
    for (std::size_t k = 0; k < shown; ++k) {
        const std::size_t i = (2 * k + 1) * all / (2 * shown);
        fmt::print("{}\n    reference    {}\n    translation  {}\n",
                   printable(test.pairs.sources[i]), printable(test.pairs.references[i]),
                   printable(test.translations[i]));
    }
}
// [by length]
void show_by_length(const Translated& test, const TextScoring& scoring, Results& results) {
    std::vector<std::size_t> sorted;
    for (const IdPair& pair : test.pairs.ids) sorted.push_back(pair.source.size());
    std::ranges::sort(sorted);
    Table table(results, {{"pieces", "<10"},
                          {"sentences", "9"},
                          varying("BLEU", "6.1f", "length_{}_bleu"),
                          varying("the same %", "10.0f", "length_{}_same")});
    for (std::size_t part = 0, first = sorted.front(); part < 4; ++part) {
        const std::size_t last =
            sorted[std::max<std::size_t>((part + 1) * sorted.size() / 4, 1) - 1];
        std::vector<std::string> translations, references;
        double same = 0;
        for (std::size_t i = 0; i < test.translations.size(); ++i) {
            const std::size_t length = test.pairs.ids[i].source.size();
            if (length < first || length > last) continue;
            translations.push_back(test.translations[i]);
            references.push_back(test.pairs.references[i]);
            same += translations.back() == references.back();
        }
        if (references.empty()) continue;  // too many sources are equally long
        table.row(part, fmt::format("{} to {}", first, last), references.size(),
                  scoring.score(translations, references),
                  100 * same / static_cast<double>(references.size()));
        first = last + 1;
    }
}
// [beams]
void show_beams(const Transformer& model, const HeldOut& dev, const Symbols& symbols,
                const TextScoring& scoring, Results& results, const Team& team) {
    Table table(results, {{"beam", "4"},
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
            .start = symbols.start, .end = symbols.end, .beam = beam, .never = {symbols.pad}};
        const auto translate = [&](const auto sources) {
            std::vector<std::vector<std::int32_t>> translations;
            for (const auto& of : beam_search(model, source_batch(sources, symbols), options))
                translations.push_back(of.front().ids);
            return translations;
        };
        std::array<double, 2> score{}, length{};  // by sums, by means
        double ms = 0;
        for (std::size_t alpha = 0; alpha < 2; ++alpha) {
            options.length_penalty = static_cast<Real>(alpha);
            std::vector<std::string> texts;
            ms = milliseconds([&] {
                for (const auto& ids : share_sentences(dev.ids, 64, team, translate))
                    texts.push_back(scoring.text(ids));
            });
            score[alpha] = scoring.score(texts, dev.references);
            length[alpha] = words(texts) / words(dev.references);
        }
        table.row(beam, beam, score[0], length[0], score[1], length[1],
                  1000 * static_cast<double>(dev.ids.size()) / ms);
    }
}
}  // namespace abh
