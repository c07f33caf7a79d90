#pragma once

#include <functional>
#include <set>
#include <span>
#include <vector>

#include "chapters/09_training/model/transformer.hpp"
#include "chapters/13_real_translation/search/top_k.hpp"

namespace abh {
// [options]
/// When the search for a sentence ends, if not at `max_words`.
enum class Stopping {
    full,    ///< when k hypotheses are set aside
    usual,   ///< when, besides, the best prefix would not beat the worst of them by ending now
    proven,  ///< when nothing that may come can beat the n_best-th, even if there are fewer than k
};

struct BeamOptions {
    std::int32_t start = 0, end = 0;  ///< symbols, as in `DecodingOptions`
    Index beam = 4;                   ///< k, how many prefixes of each sentence are kept
    Index n_best = 1;                 ///< how many hypotheses are wanted, at most k
    Index max_words = 256;            ///< the most of a translation, including the end symbol
    Index max_more = 1 << 20;  ///< the most words beyond those of the source; 50 in the paper
    Real length_penalty = 1;   ///< alpha, at least 0; 0 compares sums
    std::set<std::int32_t> never = {};  ///< words that may not be said, such as padding
    Stopping stopping = Stopping::usual;
};
// [score]
/// The score of a sum of log-probabilities over n words, including the end symbol.
double normalized(double log_probability, Index n, const BeamOptions& options);

/// A translation that was found.
struct Hypothesis {
    std::vector<std::int32_t> ids;  ///< without start and end symbols
    double score;                   ///< `log_probability`, normalized
    double log_probability;         ///< the sum over all words, including the end symbol
    bool finished;                  ///< the end symbol came before the limit
};
// [beam]
/// The search for the translation of one sentence. It sees only what `extend` gets from the model.
class Beam {
public:
    /// The first words of a translation, and how likely they are.
    struct Prefix {
        std::vector<std::int32_t> words;  ///< without the start symbol
        double log_probability = 0;
        std::int32_t parent = 0;  ///< which prefix of the last round this one extends
    };

    /// Begins with one prefix without words.
    /// @param limit  the most rounds
    Beam(const BeamOptions& options, Index limit)
        : options_(options), limit_(limit), prefixes_(1) {}

    /// Does one round: extends each prefix by one word, sets aside what ends among the k likeliest
    /// results, and keeps the k likeliest that do not end.
    /// @param choices  `[n, m]`: for each of the n prefixes its m likeliest next words, in order.
    ///                 With m = 2k, no other word can be among the results.
    void extend(std::span<const Choice> choices);

    /// The prefixes that go on, likeliest first; none when the search is over.
    const std::vector<Prefix>& prefixes() const { return prefixes_; }
    /// The hypotheses set aside, best first: `n_best` of them, or as many as there are.
    std::vector<Hypothesis> best() const;

private:
    /// A prefix with one more word.
    struct Candidate {
        double log_probability;
        std::int32_t parent, word;
    };

    std::vector<Candidate> candidates(std::span<const Choice> choices) const;
    void set_aside(const Candidate& candidate);
    bool over() const;

    BeamOptions options_;
    Index limit_, round_ = 0;
    std::vector<Prefix> prefixes_;
    std::vector<Hypothesis> set_aside_;  ///< at most k, the best first
};
// [beam search]
/// Translates all sentences at once, each with its own `Beam`: one row of the batch is one prefix.
///
/// Sentences do not influence each other. Among equal sums, the earlier prefix comes first, and
/// within one prefix the earlier choice, so the result is unique. With k = 1 it is that of
/// `greedy_decode_cached`, unless `Stopping::proven` searches on.
///
/// @param src    ids `[B, Ls]`, shorter sentences padded at their ends
/// @param watch  called after each round with all sentences' searches
/// @return       each sentence's hypotheses, best first: `n_best`, or as many as there are
/// @throws std::invalid_argument if `src` has another shape or does not fit the model, or an option
///         is out of its range; std::runtime_error if a probability is not a number
std::vector<std::vector<Hypothesis>> beam_search(
    const Transformer& model, const Ids& src, const BeamOptions& options,
    const std::function<void(std::span<const Beam>)>& watch = {});

}  // namespace abh
