#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/13_real_translation/commands.hpp"
#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "chapters/13_real_translation/subwords/byte_pairs.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/io/files.hpp"
#include "lib/program/output.hpp"
#include "lib/program/program.hpp"
#include "lib/random.hpp"

namespace abh {
// [units]
namespace {

/// Words and punctuation marks: spaces separate words, and each mark is a unit of its own.
Words words_and_marks(const std::string& sentence) {
    Words units;
    bool within = false;
    for (const char32_t code : code_points(sentence)) {
        const std::string character = utf8({&code, 1});
        const bool of_word = code == U'\'' ? within : !letters(character).empty();
        if (of_word && within)
            units.back() += character;
        else if (code != U' ')
            units.push_back(character);
        within = of_word;
    }
    return units;
}

Words single_characters(const std::string& sentence) {
    return score_words(sentence, "char");
}
// [show data]
/// Test pairs that would share a sentence with the others if pairs were drawn one by one.
Index leaks_of_a_random_split(const ParallelText& text) {
    std::vector<TextPair> pairs, shuffled;
    for (const auto* part : {&text.train, &text.dev, &text.test})
        std::ranges::copy(*part, std::back_inserter(pairs));
    std::vector<Index> order(pairs.size());
    std::iota(order.begin(), order.end(), Index{0});
    shuffle(order, Random(1).stream());
    for (const Index i : order) shuffled.push_back(pairs[static_cast<std::size_t>(i)]);
    const std::span all(shuffled);
    return count_leaks(all.subspan(text.test.size()), all.first(text.test.size()));
}

/// Shows how many pairs there are, and a few of them.
void show_data(const ParallelText& text, const CleanCounts& counts, Results& results) {
    fmt::print("{}\n", counts.summary());
    fmt::print("{} to train on, {} for development, {} to test\n\n", text.train.size(),
               text.dev.size(), text.test.size());
    for (std::size_t i = 0; i < text.dev.size(); i += text.dev.size() / 4)
        fmt::print("{}\n    {}\n", text.dev[i].source, text.dev[i].target);
    const Index leaks = count_leaks(text.train, text.test);
    const Index random_leaks = leaks_of_a_random_split(text);
    fmt::print("\ntest pairs that share a sentence with training: {}\n", leaks);
    fmt::print("if the test were drawn pair by pair: {}\n", random_leaks);
    std::size_t most_words = 0;
    double largest_ratio = 0;
    for (const auto& [source, target] : text.train) {
        const auto [shorter, longer] = std::minmax({source.size(), target.size()});
        largest_ratio =
            std::max(largest_ratio, static_cast<double>(longer) / static_cast<double>(shorter));
        most_words = std::max(most_words, split_words(target).size());
    }
    results.set("pairs", counts.kept);
    results.set("pairs_read", counts.read());
    results.set("pairs_train", text.train.size());
    results.set("pairs_dev", text.dev.size());
    results.set("pairs_test", text.test.size());
    results.set("leaks", leaks);
    results.set("random_leaks", random_leaks);
    results.set("most_words", most_words);
    results.set("largest_ratio", largest_ratio);
}
// [show unknown]
double percent(Index part, Index whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// Shows how much of the test would be unknown to a vocabulary of all training units.
void show_unknown(const ParallelText& text, Results& results) {
    Table table(results, {{"units", "<29"},
                          {"in training", "11", "{}_distinct"},
                          {"once", "6", "{}_once"},
                          {"in the test", "11", "{}_units"},
                          {"unknown %", "9.2f", "{}_unknown"},
                          {"sentences %", "11.1f", "{}_sentences"}});
    const auto show = [&](const char* name, const char* key, auto side, auto cut) {
        std::map<std::string, Index> count;
        for (const std::string& sentence : side(text.train))
            for (const std::string& unit : cut(sentence)) ++count[unit];
        Index units = 0, unknown = 0, sentences = 0;
        for (const std::string& sentence : side(text.test)) {
            const Words of_test = cut(sentence);
            const Index new_ones = std::ranges::count_if(
                of_test, [&](const std::string& unit) { return !count.contains(unit); });
            units += std::ssize(of_test);
            unknown += new_ones;
            sentences += new_ones > 0;
        }
        table.row(key, name, count.size(),
                  std::ranges::count_if(count, [](const auto& unit) { return unit.second == 1; }),
                  units, percent(unknown, units), percent(sentences, std::ssize(text.test)));
    };
    show("English, between spaces", "english_spaces", targets, split_words);
    show("English words and marks", "english_words", targets, words_and_marks);
    show("English characters", "english_characters", targets, single_characters);
    show("Chinese, between spaces", "chinese_spaces", sources, split_words);
    show("Chinese characters", "chinese_characters", sources, single_characters);
}
// [show merges]
/// Shows the merges of five words, one after the other, and cuts words that are not among them.
void show_merges() {
    const std::map<std::string, Index> count{
        {"walk", 3}, {"walks", 2}, {"walked", 2}, {"talk", 2}, {"talked", 1}};
    std::vector<std::pair<Pieces, Index>> words;
    for (const auto& [word, n] : count) words.emplace_back(characters(word), n);
    for (const auto& [pieces, n] : words) fmt::print("{} times {}\n", n, fmt::join(pieces, " "));
    fmt::print("\n");
    const std::vector<Merge> merges = learn_merges(count, 7);
    for (std::size_t i = 0; i < merges.size(); ++i) {
        Index found = 0;
        std::string merged;
        for (auto& [pieces, n] : words) {
            const std::size_t before = pieces.size();
            pieces = join(merges[i], pieces);
            found += n * static_cast<Index>(before - pieces.size());
            merged += fmt::format("  {}", fmt::join(pieces, "·"));
        }
        fmt::print("{}  {:2} times {:<8}{}\n", i + 1, found,
                   merges[i].first + " " + merges[i].second, merged);
    }
    for (const char* word : {"talks", "stalked"})
        fmt::print("\nnot in the text: {}   {}", word, fmt::join(cut(word, merges), " "));
    fmt::print("\n");
}
// [show pieces]
/// Shows a few sentences in pieces, and how many test sentences come back.
void show_pieces(const ParallelText& text, Results& results) {
    const Subwords subwords = Subwords::train(both_sides(text.train), 8000);
    for (const char* sentence :
         {"我有一个好朋友。", "I have a good friend.", "She unfriended him.", "他喜欢下雪☃"})
        fmt::print("{}\n    {}\n", sentence, fmt::join(subwords.pieces(sentence), " "));
    Index same = 0;
    for (const std::string& sentence : both_sides(text.test))
        same += subwords.decode(subwords.encode(sentence)) == sentence;
    fmt::print("\n{} of {} test sentences come back as they were\n", same, 2 * text.test.size());
    results.set("test_sentences", 2 * text.test.size());
    results.set("come_back", same);
}
// [show sizes]
/// Shows, by the size of the vocabulary, how many pieces a sentence has, the share of them that are
/// single bytes, and the share of the vocabulary that occurs fewer than ten times in training.
void show_vocabulary_sizes(const ParallelText& text, Results& results) {
    Table table(results, {{"language", "<8"},
                          {"pieces at most", "14"},
                          {"pieces", "6", "pieces_{}"},
                          {"a sentence", "10.2f", "length_{}"},
                          {"bytes %", "7.2f", "bytes_{}"},
                          {"rare %", "7.1f", "rare_{}"}});
    const auto show = [&](const char* language, auto side, std::initializer_list<Index> sizes) {
        for (const Index size : sizes) {
            const Subwords subwords = Subwords::train(side(text.train), size);
            std::vector<Index> seen(static_cast<std::size_t>(subwords.size()));
            for (const std::string& sentence : side(text.train))
                for (const std::int32_t id : subwords.encode(sentence))
                    ++seen[static_cast<std::size_t>(id)];
            Index pieces = 0, bytes = 0;
            for (const std::string& sentence : side(text.test))
                for (const std::string& piece : subwords.pieces(sentence)) {
                    ++pieces;
                    bytes += piece.starts_with("<0x");
                }
            const Index rare = std::ranges::count_if(seen, [](Index n) { return n < 10; });
            table.row(fmt::format("{}_{}", language, size), language, size, subwords.size(),
                      static_cast<double>(pieces) / static_cast<double>(text.test.size()),
                      percent(bytes, pieces), percent(rare, subwords.size()));
        }
    };
    show("English", targets, {500, 1000, 2000, 4000, 8000});
    show("Chinese", sources, {4000, 8000, 16000});
}
}  // namespace
// [run]
void write_text(const std::filesystem::path& folder) {
    const ParallelText text = tatoeba();
    for (const auto& [name, pairs] :
         {std::pair{"train.tsv", &text.train}, {"dev.tsv", &text.dev}, {"test.tsv", &text.test}}) {
        AtomicFile file(folder / name);
        for (const auto& [source, target] : *pairs) file.write(source + '\t' + target + '\n');
        file.commit();
        fmt::print("{}: {} pairs\n", (folder / name).string(), pairs->size());
    }
}

void show_text(Results& results) {
    CleanCounts counts;
    const ParallelText text = tatoeba(&counts);
    section("The data");
    show_data(text, counts, results);
    section("Words that training has not seen");
    show_unknown(text, results);
    section("Byte pair encoding, by hand");
    show_merges();
    section("Sentences in pieces");
    show_pieces(text, results);
    section("How many pieces");
    show_vocabulary_sizes(text, results);
}

}  // namespace abh
