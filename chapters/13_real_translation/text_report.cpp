#include "chapters/13_real_translation/text_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "chapters/09_training/corpus.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/subwords/byte_pairs.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/program/output.hpp"
#include "lib/random.hpp"

namespace abh {
// [units]
namespace {

using Units = std::vector<std::string>;

/// Words and punctuation marks: spaces separate, and each mark stands alone.
Units words_and_marks(const std::string& sentence) {
    Units units;
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

/// The characters, spaces left out.
Units single_characters(const std::string& sentence) {
    Units units;
    for (const char32_t code : code_points(sentence))
        if (code != U' ') units.push_back(utf8({&code, 1}));
    return units;
}
// [count]
using Cut = Units (*)(const std::string& sentence);

/// How often each unit occurs, the most frequent first. Of equally frequent ones the first in the
/// order of bytes.
std::vector<std::pair<std::string, Index>> count_units(std::span<const std::string> sentences,
                                                       Cut cut) {
    std::map<std::string, Index> count;
    for (const std::string& sentence : sentences)
        for (const std::string& unit : cut(sentence)) ++count[unit];
    std::vector<std::pair<std::string, Index>> units(count.begin(), count.end());
    std::ranges::stable_sort(units, std::greater(), [](const auto& unit) { return unit.second; });
    return units;
}

/// What a vocabulary of units does not know of a text.
struct Unknown {
    Index units = 0;      ///< of the text
    Index unknown = 0;    ///< those of them that the vocabulary lacks
    Index sentences = 0;  ///< with an unknown unit
};

/// @param known  the vocabulary
Unknown count_unknown(const std::set<std::string>& known, std::span<const std::string> test,
                      Cut cut) {
    Unknown found;
    for (const std::string& sentence : test) {
        const Units units = cut(sentence);
        const Index unknown = std::ranges::count_if(
            units, [&](const std::string& unit) { return !known.contains(unit); });
        found.units += static_cast<Index>(units.size());
        found.unknown += unknown;
        found.sentences += unknown > 0;
    }
    return found;
}

double percent(Index part, Index whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}
// [show data]
/// Test pairs that would share a sentence with the others if pairs were drawn one by one.
Index leaks_of_a_random_split(const ParallelText& text) {
    std::vector<TextPair> pairs = text.train;
    pairs.insert(pairs.end(), text.dev.begin(), text.dev.end());
    pairs.insert(pairs.end(), text.test.begin(), text.test.end());
    std::vector<Index> order(pairs.size());
    std::iota(order.begin(), order.end(), Index{0});
    shuffle(order, Random(1).stream());
    std::vector<TextPair> shuffled;
    for (const Index i : order) shuffled.push_back(pairs[static_cast<std::size_t>(i)]);
    const std::span all(shuffled);
    return count_leaks(all.subspan(text.test.size()), all.first(text.test.size()));
}

}  // namespace

void show_data(const ParallelText& text, const CleanCounts& counts, Results& results) {
    fmt::print("{}\n", counts.summary());
    fmt::print("{} to train on, {} for development, {} to test\n\n", text.train.size(),
               text.dev.size(), text.test.size());
    for (std::size_t i = 0; i < text.dev.size(); i += text.dev.size() / 4)
        fmt::print("{}\n    {}\n", text.dev[i].source, text.dev[i].target);
    const Index leaks = count_leaks(text.train, text.test);
    const Index random_leaks = leaks_of_a_random_split(text);
    fmt::print("\ntest pairs with a sentence that stands in training, too: {}\n", leaks);
    fmt::print("if the test were drawn pair by pair: {}\n", random_leaks);
    std::size_t most_words = 0;
    double largest_ratio = 0;
    for (const auto& [source, target] : text.train) {
        const auto [shorter, longer] = std::minmax({source.size(), target.size()});
        largest_ratio =
            std::max(largest_ratio, static_cast<double>(longer) / static_cast<double>(shorter));
        most_words = std::max(most_words, split_words(target).size());
    }
    results.set("pairs", static_cast<double>(counts.kept));
    results.set("pairs_read", static_cast<double>(counts.read()));
    results.set("pairs_train", static_cast<double>(text.train.size()));
    results.set("pairs_dev", static_cast<double>(text.dev.size()));
    results.set("pairs_test", static_cast<double>(text.test.size()));
    results.set("leaks", static_cast<double>(leaks));
    results.set("random_leaks", static_cast<double>(random_leaks));
    results.set("most_words", static_cast<double>(most_words));
    results.set("largest_ratio", largest_ratio);
}
// [show unknown]
void show_unknown(const ParallelText& text, Results& results) {
    Table table(results, {{"units", "<29"},
                          {"in training", "11", "{}_distinct"},
                          {"once", "6", "{}_once"},
                          {"in the test", "11", "{}_units"},
                          {"unknown %", "9.2f", "{}_unknown"},
                          {"sentences %", "11.1f", "{}_sentences"}});
    const auto show = [&](const char* name, const char* key, auto side, Cut cut) {
        const auto count = count_units(side(text.train), cut);
        std::set<std::string> known;
        for (const auto& [unit, n] : count) known.insert(unit);
        const Unknown found = count_unknown(known, side(text.test), cut);
        table.row(key, name, count.size(),
                  std::ranges::count_if(count, [](const auto& unit) { return unit.second == 1; }),
                  found.units, percent(found.unknown, found.units),
                  percent(found.sentences, static_cast<Index>(text.test.size())));
    };
    show("English, between spaces", "english_spaces", targets, split_words);
    show("English words and marks", "english_words", targets, words_and_marks);
    show("English characters", "english_characters", targets, single_characters);
    show("Chinese, between spaces", "chinese_spaces", sources, split_words);
    show("Chinese characters", "chinese_characters", sources, single_characters);

    // the share of unknown English words by the size of the vocabulary, for a figure
    const auto count = count_units(targets(text.train), words_and_marks);
    Tensor shares({6, 2});
    std::set<std::string> known;
    for (Index i = 0;
         const auto size : std::array<std::size_t, 6>{500, 1000, 2000, 4000, 8000, 16000}) {
        while (known.size() < std::min(size, count.size())) known.insert(count[known.size()].first);
        const Unknown found = count_unknown(known, targets(text.test), words_and_marks);
        shares(i, 0) = static_cast<Real>(size);
        shares(i++, 1) = static_cast<Real>(percent(found.unknown, found.units));
    }
    results.array("unknown_by_size", shares);
}
// [show merges]
void show_merges(Results& results) {
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
    results.set("toy_merges", static_cast<double>(merges.size()));
}
// [show pieces]
void show_pieces(const ParallelText& text, Results& results) {
    const Subwords subwords = Subwords::train(both_sides(text.train), 8000);
    for (const char* sentence :
         {"我有一个好朋友。", "I have a good friend.", "She unfriended him.", "他喜欢下雪☃"})
        fmt::print("{}\n    {}\n", sentence, fmt::join(subwords.pieces(sentence), " "));
    Index same = 0;
    for (const std::string& sentence : both_sides(text.test))
        same += subwords.decode(subwords.encode(sentence)) == sentence;
    fmt::print("\n{} of {} test sentences come back as they were\n", same, 2 * text.test.size());
    results.set("pieces", static_cast<double>(subwords.size()));
    results.set("test_sentences", static_cast<double>(2 * text.test.size()));
    results.set("come_back", static_cast<double>(same));
}
// [show sizes]
namespace {

/// How long sentences are in pieces, and which pieces these are.
struct InPieces {
    double length = 0;  ///< pieces of a sentence, in the mean
    double bytes = 0;   ///< per cent of the pieces that are single bytes
    double rare = 0;    ///< per cent of the vocabulary that training has less than ten times
};

InPieces measure(const Subwords& subwords, std::span<const std::string> train,
                 std::span<const std::string> test) {
    std::vector<Index> seen(static_cast<std::size_t>(subwords.size()));
    for (const std::string& sentence : train)
        for (const std::int32_t id : subwords.encode(sentence))
            ++seen[static_cast<std::size_t>(id)];
    Index pieces = 0, bytes = 0;
    for (const std::string& sentence : test)
        for (const std::string& piece : subwords.pieces(sentence)) {
            ++pieces;
            bytes += piece.starts_with("<0x");
        }
    const Index rare = std::ranges::count_if(seen, [](Index n) { return n < 10; });
    return {static_cast<double>(pieces) / static_cast<double>(test.size()), percent(bytes, pieces),
            percent(rare, subwords.size())};
}

}  // namespace

void show_vocabulary_sizes(const ParallelText& text, Results& results) {
    Table table(results, {{"language", "<8"},
                          {"pieces at most", "14"},
                          {"pieces", "6", "pieces_{}"},
                          {"a sentence", "10.2f", "length_{}"},
                          {"bytes %", "7.2f", "bytes_{}"},
                          {"rare %", "7.1f", "rare_{}"}});
    const auto show = [&](const char* language, auto side, std::initializer_list<Index> sizes) {
        const auto train = side(text.train), test = side(text.test);
        Tensor lengths({static_cast<Index>(sizes.size()), 2});
        for (Index i = 0; const Index size : sizes) {
            const Subwords subwords = Subwords::train(train, size);
            const InPieces found = measure(subwords, train, test);
            table.row(fmt::format("{}_{}", language, size), language, size, subwords.size(),
                      found.length, found.bytes, found.rare);
            lengths(i, 0) = static_cast<Real>(subwords.size());
            lengths(i++, 1) = static_cast<Real>(found.length);
        }
        results.array(fmt::format("lengths_{}", language), lengths);
    };
    show("English", targets, {500, 1000, 2000, 4000, 8000});
    show("Chinese", sources, {4000, 8000, 16000});
}

}  // namespace abh
