#include "chapters/09_training/data/corpus.hpp"
#include "chapters/13_real_translation/commands.hpp"
#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/random.hpp"

namespace abh {
// [options]
ScoreCommand::ScoreCommand(Options& parent)
    : command_(parent.command("score", "compute BLEU as sacrebleu does")) {
    command_.add("--reference", reference_,
                 "file of references, one per line, plain or gzip (default: show examples)");
    command_.add("--hypothesis", hypothesis_, "file of translations to score");
    command_.add("--other", other_, "file of another system's translations, to compare with");
    command_.add("--tokenize", tokenize_, "what is a word; zh or char for Chinese")
        .one_of({"13a", "zh", "char", "none"});
    command_.flag("--lowercase", lowercase_, "ignore case");
}
// [by hand]
namespace {

using Lines = std::vector<std::string>;

/// Shows translations of one sentence, and what BLEU says about them.
void show_by_hand(Results& results) {
    section("By hand");
    const std::string reference = "I have a very good friend in town .";
    const BleuOptions paper{.smooth = false};
    fmt::print("reference: {}\n", reference);
    Table table(results, {{"matches, n = 1 to 4", "<19"},
                          {"BP", "6.3f", "hand_{}_bp"},
                          {"BLEU", "6.1f", "hand_{}_bleu"},
                          {"", "<36"}});
    for (const auto& [key, line] : {std::pair{"same", "I have a very good friend in town ."},
                                    {"short", "I have a good friend in town ."},
                                    {"moved", "in town I have a very good friend ."},
                                    {"other", "I have a really close friend in the city ."},
                                    {"good", "good good good good good good good good good"}}) {
        const Counts n = count_sentences(Lines{line}, Lines{reference}).front();
        const BleuParts parts = bleu_parts(n, paper);
        table.row(
            key,
            fmt::format("{}/{} {}/{} {}/{} {}/{}", n[2], n[6], n[3], n[7], n[4], n[8], n[5], n[9]),
            parts.brevity_penalty, parts.value, line);
        results.set(fmt::format("hand_{}_share", key), parts.value / 100);
    }
}
// [spoil]
/// The sentences with each word replaced, with probability `rate`, by a random word of them all.
Lines spoil(Lines sentences, double rate, std::uint64_t seed) {
    const Lines all = split_words(join_words(sentences));
    Random random(seed);
    const Stream chances = random.stream(), choices = random.stream();
    for (Index place = 0; std::string & sentence : sentences) {
        Lines words = split_words(sentence);
        for (std::string& word : words) {
            if (static_cast<double>(chances.uniform(place)) < rate)
                word = all[static_cast<std::size_t>(choices.uniform(place) *
                                                    static_cast<Real>(all.size()))];
            ++place;
        }
        sentence = join_words(words);
    }
    return sentences;
}
// [intervals]
/// `n` of all sentences, evenly spaced, because the short ones come first.
std::vector<Counts> some_of(const std::vector<Counts>& all, std::size_t n) {
    std::vector<Counts> some;
    for (std::size_t i = 0; i < n; ++i) some.push_back(all[i * all.size() / n]);
    return some;
}

/// Shows two systems of nearly the same quality on test sets of growing size: B says what A says,
/// except for one word in a hundred.
void show_intervals(const Lines& references, Results& results, std::uint64_t seed) {
    section("How sure is a score");
    const Lines a = spoil(references, 0.20, seed + 1), b = spoil(a, 0.01, seed + 2);
    const std::vector<Counts> all_a = count_sentences(a, references),
                              all_b = count_sentences(b, references);
    Table table(results, {{"sentences", "9"},
                          {"A", "7.2f", "interval_{}_a"},
                          {"±", "6.2f", "interval_{}_a_half"},
                          {"B", "7.2f", "interval_{}_b"},
                          {"±", "6.2f", "interval_{}_b_half"},
                          {"p", "7.4f", "interval_{}_p"}});
    for (const auto& [key, n] :
         {std::pair{"50", std::size_t{50}}, {"200", 200}, {"all", references.size()}}) {
        const std::vector<Counts> some_a = some_of(all_a, n), some_b = some_of(all_b, n);
        const std::vector<double> samples = bootstrap(some_a, {}, seed);
        const std::vector<double> others = bootstrap(some_b, {}, seed);
        const double value = bleu_parts(sum_of(some_a)).value,
                     half = interval_of(samples).half_width,
                     other = bleu_parts(sum_of(some_b)).value,
                     other_half = interval_of(others).half_width;
        table.row(key, n, value, half, other, other_half, p_value(some_a, some_b, {}, seed));
        results.set(fmt::format("interval_{}_overlap", key), half + other_half - (value - other));
        Tensor scores({2, std::ssize(samples)});  // of A and of B, on the same samples
        for (Index i = 0; i < std::ssize(samples); ++i) {
            scores(0, i) = static_cast<Real>(samples[static_cast<std::size_t>(i)]);
            scores(1, i) = static_cast<Real>(others[static_cast<std::size_t>(i)]);
        }
        if (n > 50) results.array(fmt::format("samples_{}", key), scores);
    }
    double of_sentences = 0;
    for (const Counts& counts : all_a)
        of_sentences += bleu_parts(counts).value / static_cast<double>(all_a.size());
    fmt::print("the mean of the scores of A's sentences: {:.2f}\n", of_sentences);
    results.set("mean_of_sentences", of_sentences);
    results.set("interval_sentences", references.size());
}
// [what is a word]
/// Shows the scores of the same translations with different ideas of a word.
void show_tokenizations(const ParallelText& text, const Lines& references, Results& results,
                        std::uint64_t seed) {
    section("What is called a word");
    const Lines lines = spoil(references, 0.20, seed + 1);
    Lines small;
    for (const std::string& line : lines) small.push_back(lower_case(line));
    Table table(results, {{"words", "<32"}, {"BLEU", "6.1f", "words_{}"}});
    table.row("13a", "13a", bleu(lines, references));
    table.row("said_small", "13a, hypotheses in lower case", bleu(small, references));
    table.row("both_small", "13a, both in lower case",
              bleu(lines, references, {.lowercase = true}));
    table.row("none", "between spaces", bleu(lines, references, {"none"}));
    table.row("char", "characters", bleu(lines, references, {"char"}));
    for (const Index n : {500, 8000}) {
        const Subwords subwords = Subwords::train(targets(text.train), n);
        const auto cut = [&](Lines of) {
            for (std::string& line : of) line = join_words(subwords.pieces(line));
            return of;
        };
        table.row(fmt::format("pieces_{}", n), fmt::format("pieces of a vocabulary of {}", n),
                  bleu(cut(lines), cut(references), {"none"}));
    }
}
// [show]
/// Shows the examples of the page about scores.
void show_scores(Results& results, std::uint64_t seed) {
    const ParallelText text = tatoeba();
    const Lines references = targets(text.test);
    show_by_hand(results);
    show_intervals(references, results, seed);
    show_tokenizations(text, references, results, seed);
}

// [read]
/// The lines of a file as a reader sees them.
Lines read_tidy(const std::filesystem::path& file) {
    Lines lines = read_lines(file);
    for (std::size_t i = 0; i < lines.size(); ++i) try {
            lines[i] = tidy(lines[i]);
        } catch (const std::invalid_argument& error) {
            throw std::runtime_error(fmt::format("{}:{}: {}", file.string(), i + 1, error.what()));
        }
    return lines;
}

}  // namespace
// [run]
void ScoreCommand::run(Results& results, std::uint64_t seed) {
    if (reference_.empty()) return show_scores(results, seed);
    const Lines references = read_tidy(reference_);
    const auto read = [&](const std::filesystem::path& file) {
        Lines lines = read_tidy(file);
        require(lines.size() == references.size(),
                "{} has {} lines, {} has {}: line i of one must translate line i of the other",
                file.string(), lines.size(), reference_.string(), references.size());
        return lines;
    };
    const Lines lines = read(hypothesis_), others = other_.empty() ? Lines() : read(other_);
    const BleuOptions options{.tokenization = tokenize_, .lowercase = lowercase_};
    const auto show = [&](const Lines& said, const std::string& name) {
        const std::vector<Counts> counts = count_sentences(said, references, options);
        const auto [mean, half_width] = interval_of(bootstrap(counts, options, seed));
        fmt::print("{}\n", score_line(sum_of(counts), options, fmt::format("bs:1000|seed:{}", seed),
                                      fmt::format(" (μ = {:.2f} ± {:.2f})", mean, half_width)));
        results.set(name, bleu_parts(sum_of(counts), options).value);
        results.set(name + "_half_width", half_width);
        return counts;
    };
    const std::vector<Counts> counts = show(lines, "BLEU");
    if (others.empty()) return;
    const double p = p_value(counts, show(others, "BLEU_other"), options, seed);
    fmt::print("p = {:.4f}\n", p);
    results.set("BLEU_p", p);
}

}  // namespace abh
