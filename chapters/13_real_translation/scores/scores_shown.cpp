#include "chapters/13_real_translation/scores/scores_shown.hpp"

#include <cmath>

#include "chapters/09_training/corpus.hpp"
#include "chapters/13_real_translation/data/tatoeba.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "chapters/13_real_translation/scores/bootstrap.hpp"
#include "chapters/13_real_translation/scores/chrf.hpp"
#include "chapters/13_real_translation/scores/ter.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/program/output.hpp"
#include "lib/program/table.hpp"
#include "lib/random.hpp"

namespace abh {
// [by hand]
namespace {

using Lines = std::vector<std::string>;

/// Translations of one sentence, and what each metric says of them.
void show_by_hand(Results& results) {
    section("By hand");
    const Lines reference{"I have a very good friend in town ."};
    fmt::print("reference: {}\n", reference[0]);
    Table table(results, {{"matches, n = 1 to 4", "<19"},
                          {"BP", "6.3f", "hand_{}_bp"},
                          {"BLEU", "6.1f", "hand_{}_bleu"},
                          {"chrF2", "6.1f", "hand_{}_chrf"},
                          {"TER", "6.1f", "hand_{}_ter"},
                          {"", "<36"}});
    for (const auto& [key, line] : {std::pair{"same", "I have a very good friend in town ."},
                                    {"short", "I have a good friend in town ."},
                                    {"moved", "in town I have a very good friend ."},
                                    {"other", "I have a really close friend in the city ."},
                                    {"good", "good good good good good good good good good"}}) {
        const Lines hypothesis{line};
        const BleuOptions paper{.smooth = false};
        const Counts counts = bleu_metric(paper).count(line, reference[0]);
        const BleuParts parts = bleu_parts(counts, paper);
        std::string matches;
        for (std::size_t k = 0; k < parts.precisions.size(); ++k)
            matches += fmt::format("{}{:.0f}/{:.0f}", k ? " " : "", counts[2 + k], counts[6 + k]);
        table.row(key, matches, parts.brevity_penalty, parts.value,
                  chrf(hypothesis, reference).value, ter(hypothesis, reference).value, line);
        results.set(fmt::format("hand_{}_share", key), parts.value / 100);
    }
}

}  // namespace
// [spoil]
std::vector<std::string> spoil(std::span<const std::string> sentences, Damage damage, double rate,
                               std::uint64_t seed) {
    Lines all, spoiled;
    for (const std::string& sentence : sentences)
        for (const std::string& word : split_words(sentence)) all.push_back(word);
    Random random(seed);
    const Stream chances = random.stream(), choices = random.stream();
    Index place = 0;
    for (const std::string& sentence : sentences) {
        Lines words = split_words(sentence), kept;
        for (std::size_t i = 0; i < words.size(); ++i, ++place) {
            const bool hit = static_cast<double>(chances.uniform(place)) < rate;
            if (hit && damage == Damage::left_out) continue;
            if (hit && damage == Damage::swapped && i + 1 < words.size())
                std::swap(words[i], words[i + 1]);
            if (hit && damage == Damage::replaced)
                words[i] = all[static_cast<std::size_t>(choices.uniform(place) *
                                                        static_cast<Real>(all.size()))];
            kept.push_back(words[i]);
        }
        spoiled.push_back(join_words(kept));
    }
    return spoiled;
}
// [spoiled]
namespace {

/// Scores of references in which a part of the words is damaged, for each kind of damage.
void show_spoiled(const Lines& references, Results& results, std::uint64_t seed) {
    section("Spoiled translations");
    const std::vector<Metric> metrics{bleu_metric(), chrf_metric(), ter_metric()};
    constexpr Index rates = 11;
    Tensor percent({rates}), scores({3, 3, rates});  // damage, metric, rate
    for (Index r = 0; r < rates; ++r) percent(r) = static_cast<Real>(5 * r);
    Table table(results, {{"20 % of the words", "<18"},
                          {"BLEU", "6.1f", "spoiled_{}_bleu"},
                          {"chrF2", "6.1f", "spoiled_{}_chrf"},
                          {"TER", "6.1f", "spoiled_{}_ter"}});
    for (Index d = 0; d < 3; ++d) {
        for (Index r = 0; r < rates; ++r) {
            const Lines lines = spoil(references, static_cast<Damage>(d),
                                      static_cast<double>(percent(r)) / 100, seed);
            for (Index m = 0; m < 3; ++m)
                scores(d, m, r) = static_cast<Real>(
                    corpus_score(metrics[static_cast<std::size_t>(m)], lines, references).value);
        }
        const char* const names[] = {"left out", "swapped", "replaced"};
        const char* const keys[] = {"left_out", "swapped", "replaced"};
        table.row(keys[d], names[d], scores(d, 0, 4), scores(d, 1, 4), scores(d, 2, 4));
    }
    results.array("spoiled_percent", percent);
    results.array("spoiled_scores", scores);
}
// [intervals]
/// `n` of all sentences, evenly among them, since short ones stand first.
std::vector<Counts> some_of(const std::vector<Counts>& all, std::size_t n) {
    std::vector<Counts> some;
    for (std::size_t i = 0; i < n; ++i) some.push_back(all[i * all.size() / n]);
    return some;
}

/// Two systems of nearly the same quality, on test sets of growing size: B says what A says, but
/// for one more word in a hundred.
void show_intervals(const Lines& references, Results& results, std::uint64_t seed) {
    section("How sure is a score");
    const Metric metric = bleu_metric();
    const Lines a = spoil(references, Damage::replaced, 0.20, seed + 1),
                b = spoil(a, Damage::replaced, 0.01, seed + 2);
    const std::vector<Counts> all_a = count_sentences(metric, a, references),
                              all_b = count_sentences(metric, b, references);
    Table table(results, {{"sentences", "9"},
                          {"A", "7.2f", "interval_{}_a"},
                          {"±", "6.2f", "interval_{}_a_half"},
                          {"B", "7.2f", "interval_{}_b"},
                          {"±", "6.2f", "interval_{}_b_half"},
                          {"p", "7.4f", "interval_{}_p"}});
    for (const std::size_t n : {std::size_t{50}, std::size_t{200}, references.size()}) {
        const PairedTest c = compare(metric, some_of(all_a, n), some_of(all_b, n), {.seed = seed});
        const std::string key = n == references.size() ? "all" : fmt::format("{}", n);
        table.row(key, n, c.value, c.interval.half_width, c.other, c.other_interval.half_width,
                  c.p);
        results.set(fmt::format("interval_{}_overlap", key),
                    c.interval.half_width + c.other_interval.half_width - (c.value - c.other));
    }
    double of_sentences = 0;
    for (const Counts& counts : all_a)
        of_sentences += metric.value(counts) / static_cast<double>(all_a.size());
    fmt::print("the mean of the scores of A's sentences: {:.2f}\n", of_sentences);
    results.set("mean_of_sentences", of_sentences);
    const auto write = [&](const char* name, std::span<const Counts> counts) {
        const std::vector<double> scores = bootstrap(metric, counts, {.seed = seed});
        Tensor array({static_cast<Index>(scores.size())});
        for (Index i = 0; i < array.size(); ++i)
            array(i) = static_cast<Real>(scores[static_cast<std::size_t>(i)]);
        results.array(name, array);
    };
    write("samples_200", some_of(all_a, 200));
    write("samples_all", all_a);
    results.set("interval_sentences", static_cast<double>(references.size()));
}
// [what is a word]
/// The same translations, with different ideas of a word.
void show_tokenizations(const ParallelText& text, const Lines& references, Results& results,
                        std::uint64_t seed) {
    section("What is called a word");
    const Lines lines = spoil(references, Damage::replaced, 0.20, seed + 1);
    Lines training;
    for (const TextPair& pair : text.train) training.push_back(pair.target);
    Table table(results, {{"words", "<32"}, {"BLEU", "6.1f", "words_{}"}});
    const auto row = [&](const std::string& key, const std::string& what, const Lines& said,
                         const Lines& wanted, const BleuOptions& options) {
        table.row(key, what, bleu(said, wanted, options).value);
    };
    Lines small;
    for (const std::string& line : lines) small.push_back(lower_case(line));
    row("13a", "13a", lines, references, {});
    row("said_small", "13a, hypotheses in lower case", small, references, {});
    row("both_small", "13a, both in lower case", small, references, {.lowercase = true});
    row("none", "between spaces", lines, references, {.tokenization = Tokenization::none});
    row("char", "characters", lines, references, {.tokenization = Tokenization::characters});
    for (const Index n : {500, 8000}) {
        const Subwords subwords = Subwords::train(training, n);
        const auto cut = [&](const Lines& of) {
            Lines pieces;
            for (const std::string& line : of) pieces.push_back(join_words(subwords.pieces(line)));
            return pieces;
        };
        row(fmt::format("pieces_{}", n), fmt::format("pieces of a vocabulary of {}", n), cut(lines),
            cut(references), {.tokenization = Tokenization::none});
    }
}

void show_chinese(Results& results) {
    section("A Chinese sentence");
    const std::string reference = "我在城里有一个很好的朋友。",
                      hypothesis = "我在城里有一个好朋友。";
    fmt::print("reference {}, hypothesis {}\n", reference, hypothesis);
    for (const auto tokenization :
         {Tokenization::v13a, Tokenization::zh, Tokenization::characters}) {
        const Metric metric = bleu_metric({.tokenization = tokenization});
        const Counts counts = metric.count(hypothesis, reference);
        fmt::print("{:<5}{:6.2f}  {}\n", name_of(tokenization), metric.value(counts),
                   metric.parts(counts));
        results.set("chinese_" + name_of(tokenization), metric.value(counts));
    }
}

}  // namespace
// [show]
void show_scores(Results& results, std::uint64_t seed) {
    const ParallelText text = tatoeba();
    Lines references;
    for (const TextPair& pair : text.test) references.push_back(pair.target);
    show_by_hand(results);
    show_spoiled(references, results, seed);
    show_intervals(references, results, seed);
    show_tokenizations(text, references, results, seed);
    show_chinese(results);
}

}  // namespace abh
