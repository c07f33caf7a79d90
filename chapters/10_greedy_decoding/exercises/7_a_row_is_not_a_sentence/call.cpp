#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "judge/answer/serve.hpp"

namespace abh::mine {
using Word = std::int32_t;
using Sentence = std::vector<Word>;
struct Prefixes {
    std::function<std::vector<Word>(const std::vector<Word>& words)> next;
    std::function<void(const std::vector<Index>& kept)> select;
};
using Decode = std::function<std::vector<Sentence>(const Prefixes& decoder, Index n_sentences,
                                                   Word start, Word end, Index max_words)>;
std::vector<Sentence> greedy_batch(const Prefixes& decoder, Index n_sentences, Word start, Word end,
                                   Index max_words);
bool accepts(const Decode& decode);
}  // namespace abh::mine

using namespace abh;
using mine::Sentence;
using mine::Word;

namespace {

/// A prefix, and the sentence to which it belongs.
struct Row {
    Index sentence;
    Sentence read;  ///< the start symbol, and what has been said
};

/// The word after a prefix in the sentence's script, or 99 if the prefix is not what the script
/// says.
Word answer(const Row& row, const Ids& scripts, Word start, Word end) {
    if (row.read.front() != start) return 99;
    for (Index t = 0;; ++t) {
        const Word right = t < scripts.dim(1) ? scripts(row.sentence, t) : end;
        const auto next = static_cast<std::size_t>(t) + 1;
        if (next == row.read.size() || right == end) return right;
        if (row.read[next] != right) return 99;
    }
}

/// What is said, padded with 0, and how many words the decoder is given. Row s of `scripts`,
/// `[n, L]`, is what sentence s says; after its last word comes the end symbol.
judge::Values translate(const Ids& scripts, Word start, Word end, Index max_words) {
    std::vector<Row> rows;
    for (Index s = 0; s < scripts.dim(0); ++s) rows.push_back({s, {}});
    Index given = 0;
    mine::Prefixes decoder;
    decoder.next = [&](const Sentence& words) {
        require(!rows.empty(), "next is called, but no row goes on");
        require(words.size() == rows.size(), "next is given {} words for {} rows", words.size(),
                rows.size());
        given += static_cast<Index>(words.size());
        require(given < 1000, "next is called again and again: is there a cap?");
        Sentence said;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i].read.push_back(words[i]);
            said.push_back(answer(rows[i], scripts, start, end));
        }
        return said;
    };
    decoder.select = [&](const std::vector<Index>& kept) {
        std::vector<Row> now;
        for (const Index row : kept) {
            require(row >= 0 && row < static_cast<Index>(rows.size()),
                    "select names row {}, but there are {} rows", row, rows.size());
            now.push_back(rows[static_cast<std::size_t>(row)]);
        }
        rows = now;
    };
    const std::vector<Sentence> results =
        mine::greedy_batch(decoder, scripts.dim(0), start, end, max_words);
    std::size_t longest = 1;
    for (const Sentence& words : results) longest = std::max(longest, words.size());
    Ids said = Ids::zeros({static_cast<Index>(results.size()), static_cast<Index>(longest)});
    for (std::size_t s = 0; s < results.size(); ++s)
        for (std::size_t t = 0; t < results[s].size(); ++t)
            said(static_cast<Index>(s), static_cast<Index>(t)) = results[s][t];
    return judge::values(said, given);
}

/// Decoding that gives a word to every sentence in every round, until all have ended.
std::vector<Sentence> carried_along(const mine::Prefixes& decoder, Index n_sentences, Word start,
                                    Word end, Index max_words) {
    std::vector<Sentence> results(static_cast<std::size_t>(n_sentences));
    std::vector<Word> words(results.size(), start);
    std::vector<bool> ended(results.size());
    for (Index t = 0; t < max_words && std::count(ended.begin(), ended.end(), false) > 0; ++t) {
        words = decoder.next(words);
        for (std::size_t s = 0; s < std::min(results.size(), words.size()); ++s) {
            if (words[s] == end) ended[s] = true;
            if (!ended[s]) results[s].push_back(words[s]);
        }
    }
    return results;
}

/// Decoding with one mistake, or with none if `what` is "right".
std::vector<Sentence> decoded(const std::string& what, const mine::Prefixes& decoder,
                              Index n_sentences, Word start, Word end, Index max_words) {
    if (what == "a sentence that has ended is carried along")
        return carried_along(decoder, n_sentences, start, end, max_words);
    const bool by_row = what == "the one in your file at first",
               last_alone = what == "the rows that the last select named are taken for sentences",
               tells_sentences = what == "select is told sentences, not rows",
               never_tells = what == "select is never called",
               stops = what == "it stops when the first sentence ends",
               keeps_end = what == "the end symbol is kept",
               one_more = what == "the cap is one too large";
    std::vector<Sentence> results(static_cast<std::size_t>(n_sentences));
    std::vector<Word> words(results.size(), start);
    std::vector<std::size_t> sentence_of(results.size());
    std::iota(sentence_of.begin(), sentence_of.end(), std::size_t{0});
    for (Index t = 0; t < max_words + Index{one_more} && !words.empty(); ++t) {
        const std::vector<Word> said = decoder.next(words);
        const std::size_t n = std::min(said.size(), words.size());  // whatever a test returns
        std::vector<Index> kept;
        std::vector<std::size_t> still;
        words.clear();
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t sentence = sentence_of[i];
            if (said[i] != end || keeps_end) results[by_row ? i : sentence].push_back(said[i]);
            if (said[i] == end) continue;
            kept.push_back(static_cast<Index>(tells_sentences ? sentence : i));
            still.push_back(last_alone ? i : sentence);
            words.push_back(said[i]);
        }
        if (stops && kept.size() < n) break;
        sentence_of = still;
        if (!never_tells) decoder.select(kept);
    }
    return results;
}

bool accepts(const std::string& what) {
    return mine::accepts([&](const mine::Prefixes& decoder, Index n_sentences, Word start, Word end,
                             Index max_words) {
        return what == "own" ? mine::greedy_batch(decoder, n_sentences, start, end, max_words)
                             : decoded(what, decoder, n_sentences, start, end, max_words);
    });
}

}  // namespace

int main() {
    return judge::serve(
        {{"greedy_batch", judge::function(translate)}, {"accepts", judge::function(accepts)}});
}
