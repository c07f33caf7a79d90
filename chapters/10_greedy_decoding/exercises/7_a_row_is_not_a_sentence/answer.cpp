// Exercise 10.7: a row is not a sentence.
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

using Word = std::int32_t;
using Sentence = std::vector<Word>;

/// A decoder with a cache. It holds a prefix in each of its rows. At first, row s holds that of
/// sentence s, which has no word.
struct Prefixes {
    /// Takes the newest word of each row, at first the start symbol; returns the likeliest word
    /// after each. There must be at least one row.
    std::function<std::vector<Word>(const std::vector<Word>& words)> next;
    /// From then on, row i holds what row `kept[i]` held. Rows that `kept` does not name are gone;
    /// it may name all rows or none.
    std::function<void(const std::vector<Index>& kept)> select;
};
using Decode = std::function<std::vector<Sentence>(const Prefixes& decoder, Index n_sentences,
                                                   Word start, Word end, Index max_words)>;

/// The words that the decoder says for each sentence, without start and end symbol.
/// @param n_sentences  at least 1
/// @param max_words    most words of a sentence, even if its end symbol has not come; at least 1
std::vector<Sentence> greedy_batch(const Prefixes& decoder, Index n_sentences, Word start, Word end,
                                   Index max_words) {
    std::vector<Sentence> results(static_cast<std::size_t>(n_sentences));
    std::vector<Word> words(results.size(), start);
    // solution
    std::vector<std::size_t> sentence_of(results.size());  // for each row
    std::iota(sentence_of.begin(), sentence_of.end(), std::size_t{0});
    // stub
    // end
    for (Index t = 0; t < max_words && !words.empty(); ++t) {
        const std::vector<Word> said = decoder.next(words);
        std::vector<Index> kept;
        words.clear();
        // solution
        std::vector<std::size_t> still;
        // stub
        // end
        for (std::size_t i = 0; i < said.size(); ++i) {
            if (said[i] == end) continue;
            // solution
            results[sentence_of[i]].push_back(said[i]);
            still.push_back(sentence_of[i]);
            // stub
            // results[i].push_back(said[i]);
            // end
            kept.push_back(static_cast<Index>(i));
            words.push_back(said[i]);
        }
        // solution
        sentence_of = still;
        // stub
        // end
        decoder.select(kept);
    }
    return results;
}

// solution
namespace {

/// Whether `decode` is right if sentence s has `lengths[s]` words: 10 s + 10, 10 s + 11, ...
bool is_right(const Decode& decode, const std::vector<Index>& lengths, Index max_words) {
    const Word start = 1, end = 2;
    const auto word = [&](std::size_t s, Index t) -> Word {
        if (t < 0) return start;
        return t < lengths[s] ? static_cast<Word>(10 * static_cast<Index>(s) + 10 + t) : end;
    };
    struct Row {
        std::size_t sentence;
        Index said;  ///< number of words
    };
    std::vector<Row> rows;
    std::vector<Sentence> expected(lengths.size());
    Index needed = 0, given = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
        rows.push_back({s, 0});
        needed += std::min(lengths[s] + 1, max_words);
        for (Index t = 0; t < std::min(lengths[s], max_words); ++t)
            expected[s].push_back(word(s, t));
    }
    Prefixes decoder;
    decoder.next = [&](const std::vector<Word>& words) {
        require(!rows.empty() && words.size() == rows.size(), "{} words for {} rows", words.size(),
                rows.size());
        given += static_cast<Index>(words.size());
        std::vector<Word> said;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto& [sentence, t] = rows[i];
            require(words[i] == word(sentence, t - 1), "this is not the newest word");
            said.push_back(word(sentence, t++));
        }
        return said;
    };
    decoder.select = [&](const std::vector<Index>& kept) {
        std::vector<Row> now;
        for (const Index row : kept) now.push_back(rows.at(static_cast<std::size_t>(row)));
        rows = now;
    };
    try {
        const Index n = static_cast<Index>(lengths.size());
        return decode(decoder, n, start, end, max_words) == expected && given == needed;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace
// stub
// end

/// Whether `decode` does what `greedy_batch` should do.
bool accepts(const Decode& decode) {
    // solution
    return is_right(decode, {1, 3, 2, 4}, 9) && is_right(decode, {4, 1, 4}, 3);
    // stub
    // return true;
    // end
}

}  // namespace abh::mine
