#include "chapters/13_real_translation/score_command.hpp"

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "chapters/13_real_translation/scores/bootstrap.hpp"
#include "chapters/13_real_translation/scores/chrf.hpp"
#include "chapters/13_real_translation/scores/scores_shown.hpp"
#include "chapters/13_real_translation/scores/ter.hpp"
#include "lib/program/table.hpp"

namespace abh {
// [options]
ScoreCommand::ScoreCommand(Options& parent)
    : command_(parent.command("score", "BLEU, chrF and TER of translations, as sacrebleu")) {
    command_.add("--reference", reference_,
                 "file of right translations, a line each, plain or gzip; none: an example");
    command_.add("--hypothesis", hypothesis_, "file of translations to score");
    command_.add("--other", other_, "translations of another system, to compare with");
    command_.add("--metrics", names_, "bleu, chrf, ter, separated by commas")
        .divided_by(',')
        .one_of({"bleu", "chrf", "ter"});
    command_.add("--tokenize", tokenize_, "BLEU's words: zh or char for Chinese")
        .one_of({"13a", "zh", "char", "none"});
    command_.add("--chrf-words", chrf_words_, "n-grams of words in chrF; 2 makes it chrF++")
        .range(0, 9);
    command_.flag("--lowercase", lowercase_, "BLEU and chrF without regard to case; TER always is");
    command_.flag("--confidence", confidence_, "95 % intervals, by 1000 samples of the sentences");
}

std::vector<Metric> ScoreCommand::metrics() const {
    std::vector<Metric> list;
    for (const std::string& name : names_) {
        if (name == "bleu")
            list.push_back(bleu_metric(
                {.tokenization = tokenization_named(tokenize_), .lowercase = lowercase_}));
        if (name == "chrf")
            list.push_back(chrf_metric({.words = chrf_words_, .lowercase = lowercase_}));
        if (name == "ter") list.push_back(ter_metric());
    }
    return list;
}
// [files]
namespace {

/// The translations in a file, as many as there are references.
std::vector<std::string> read_translations(const std::filesystem::path& file,
                                           const std::filesystem::path& reference, std::size_t n) {
    std::vector<std::string> lines = read_lines(file);
    if (lines.size() != n)
        throw std::runtime_error(
            fmt::format("{} has {} lines, {} has {}: line i of one must translate line i of the "
                        "other",
                        file.string(), lines.size(), reference.string(), n));
    return lines;
}

std::string drawing(const BootstrapOptions& options) {
    return fmt::format("bs:{}|seed:{}", options.samples, options.seed);
}

}  // namespace
// [one]
void ScoreCommand::print_one(const std::vector<std::string>& references, Results& results,
                             std::uint64_t seed) const {
    const auto lines = read_translations(hypothesis_, reference_, references.size());
    const BootstrapOptions options{.seed = seed};
    for (const Metric& metric : metrics()) {
        const std::vector<Counts> counts = count_sentences(metric, lines, references);
        const Counts sums = sum_of(counts);
        const double value = metric.value(sums);
        results.set(metric.name, value);
        std::string around;
        if (confidence_) {
            const Interval interval = interval_of(bootstrap(metric, counts, options));
            around = fmt::format(" (μ = {:.2f} ± {:.2f})", interval.mean, interval.half_width);
            results.set(metric.name + "_mean", interval.mean);
            results.set(metric.name + "_half_width", interval.half_width);
        }
        fmt::print("{}|{} = {:.2f}{}{}\n", metric.name,
                   signature_of(metric, confidence_ ? drawing(options) : ""), value, around,
                   metric.parts ? " " + metric.parts(sums) : "");
    }
}
// [two]
void ScoreCommand::print_two(const std::vector<std::string>& references, Results& results,
                             std::uint64_t seed) const {
    const auto lines = read_translations(hypothesis_, reference_, references.size());
    const auto others = read_translations(other_, reference_, references.size());
    const BootstrapOptions options{.seed = seed};
    const std::vector<Metric> list = metrics();
    Table table(results, {{"metric", "<8"},
                          {"hypothesis", "10.2f", "{}"},
                          {"±", "6.2f", "{}_half_width"},
                          {"other", "8.2f", "{}_other"},
                          {"±", "6.2f", "{}_other_half_width"},
                          {"p", "7.4f", "{}_p"}});
    for (const Metric& metric : list) {
        const PairedTest c = compare(metric, count_sentences(metric, lines, references),
                                     count_sentences(metric, others, references), options);
        table.row(metric.name, metric.name, c.value, c.interval.half_width, c.other,
                  c.other_interval.half_width, c.p);
    }
    for (const Metric& metric : list)
        fmt::print("{}|{}\n", metric.name, signature_of(metric, drawing(options)));
}
// [run]
void ScoreCommand::run(Results& results, std::uint64_t seed) {
    if (reference_.empty()) return show_scores(results, seed);
    const std::vector<std::string> references = read_lines(reference_);
    other_.empty() ? print_one(references, results, seed) : print_two(references, results, seed);
}

}  // namespace abh
