// Once: byte pairs.
#include "chapters/13_real_translation/subwords/byte_pairs.hpp"

#include <algorithm>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "tests/catch.hpp"

using namespace abh;

namespace {

using Count = std::map<std::string, Index>;

const Count toy{{"walk", 3}, {"walks", 2}, {"walked", 2}, {"talk", 2}, {"talked", 1}};

std::vector<std::string> merged(const std::vector<Merge>& merges) {
    std::vector<std::string> pieces;
    for (const Merge& merge : merges) pieces.push_back(merge.first + merge.second);
    return pieces;
}

Index count_characters(const Count& count) {
    std::map<std::string, Index> found;
    for (const auto& [word, n] : count)
        for (const std::string& character : characters(word)) ++found[character];
    return static_cast<Index>(found.size());
}

/// A model of SentencePiece that knows each character and learns so many merges.
Subwords library(const Count& count, Index n_merges) {
    std::vector<std::string> sentences;
    for (const auto& [word, n] : count)
        for (Index i = 0; i < n; ++i) sentences.push_back(word);
    return Subwords::train(sentences, 4 + count_characters(count) + n_merges, false);
}

/// What SentencePiece merges, in order: its pieces of more than one character.
std::vector<std::string> merged(const Subwords& subwords) {
    std::vector<std::string> pieces;
    for (std::int32_t id = 4; id < subwords.size(); ++id)
        if (code_points(subwords.piece(id)).size() > 1) pieces.push_back(subwords.piece(id));
    return pieces;
}

/// The most frequent English words of the book's data, letters alone.
Count real_words(std::size_t n) {
    Count all;
    for (const std::string& sentence : targets(tatoeba().train))
        for (const std::string& word : split_words(lower_case(sentence)))
            if (std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; })) ++all[word];
    std::vector<std::pair<Index, std::string>> order;
    for (const auto& [word, count] : all) order.emplace_back(-count, word);
    std::sort(order.begin(), order.end());
    Count words;
    for (std::size_t i = 0; i < n; ++i) words[order[i].second] = -order[i].first;
    return words;
}

}  // namespace

TEST_CASE("the merges of five words are those found by hand") {
    CHECK(characters("我 a") == Pieces{"▁", "我", " ", "a"});
    CHECK(learn_merges(toy, 7) == std::vector<Merge>{{"a", "l"},
                                                     {"al", "k"},
                                                     {"▁", "w"},
                                                     {"▁w", "alk"},
                                                     {"e", "d"},
                                                     {"▁", "t"},
                                                     {"▁t", "alk"}});
    const auto merges = learn_merges(toy, 7);
    CHECK(cut("talks", merges) == Pieces{"▁talk", "s"});
    CHECK(cut("walked", merges) == Pieces{"▁walk", "ed"});
    CHECK(cut("xyz", merges) == Pieces{"▁", "x", "y", "z"});
    CHECK(cut("", merges) == Pieces{"▁"});
}

TEST_CASE("a merge goes from left to right and takes no piece twice") {
    CHECK(join({"a", "a"}, {"a", "a", "a"}) == Pieces{"aa", "a"});
    CHECK(join({"a", "b"}, {"a", "b", "a", "b", "a"}) == Pieces{"ab", "ab", "a"});
    CHECK(join({"a", "b"}, {"b", "a"}) == Pieces{"b", "a"});
    CHECK(join({"a", "b"}, {}).empty());
}

TEST_CASE("SentencePiece merges what the plain way merges, on five words") {
    const auto all = learn_merges(toy, 100);
    for (Index n = 0; n <= static_cast<Index>(all.size()); ++n)
        CHECK(merged(library(toy, n)) == merged(learn_merges(toy, n)));
}

TEST_CASE("SentencePiece merges what the plain way merges, on words of the data") {
    const Count words = real_words(400);
    const Index n_merges = 250;
    const auto merges = learn_merges(words, n_merges);
    const Subwords subwords = library(words, n_merges);
    CHECK(merged(subwords) == merged(merges));
    for (const auto& [word, n] : words) CHECK(subwords.pieces(word) == cut(word, merges));
}
