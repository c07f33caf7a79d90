#pragma once

#include <set>
#include <span>
#include <vector>

#include "chapters/09_training/transformer.hpp"
#include "chapters/13_real_translation/search/top_k.hpp"

namespace abh {
// [options]
/// When a sentence's search is over, besides at `max_words`: k hypotheses are set aside, and ...
enum class Stopping {
    full,    ///< that is enough
    usual,   ///< the best prefix, if it ended now, would not be better than the worst of them
    proven,  ///< nothing that comes can be better than the n_best-th, whether k are there or not
};

struct BeamOptions {
    std::int32_t start = 0, end = 0;    ///< symbols, as in `DecodingOptions`
    Index beam = 4;                     ///< k, how many prefixes of a sentence are kept
    Index n_best = 1;                   ///< how many hypotheses are wanted, at most k
    Index max_words = 256;              ///< of a translation, the end symbol counted
    Index max_more = 1 << 20;           ///< words more than the source has; 50 in the paper
    Real length_penalty = 1;            ///< alpha, at least 0; with 0 sums are compared
    std::set<std::int32_t> never = {};  ///< words that are not to be said, such as padding
    Stopping stopping = Stopping::usual;
};
// [score]
/// A sum of log-probabilities of n words, the end symbol counted, as a score.
double normalized(double log_probability, Index n, const BeamOptions& options);

/// A translation that was found.
struct Hypothesis {
    std::vector<std::int32_t> ids;  ///< without start and end symbol
    double score;                   ///< `log_probability`, normalized
    double log_probability;         ///< sum over all words, the end symbol's included
    bool finished;                  ///< the end symbol came before the limit
};
// [beam]
/// The search for the translation of one sentence. Of the model it sees what `extend` is given.
class Beam {
public:
    /// The first words of translations, and how likely they are.
    struct Prefix {
        std::vector<std::int32_t> words;  ///< without the start symbol
        double log_probability = 0;
        std::int32_t parent = 0;  ///< which prefix of the last round this one extends
    };

    /// Begins with one prefix of no words.
    /// @param limit  how many rounds there are at most
    Beam(const BeamOptions& options, Index limit)
        : options_(options), limit_(limit), prefixes_(1) {}

    /// One round: extends the prefixes by a word, and keeps the k likeliest of what comes out. What
    /// ends here is set aside.
    /// @param choices  `[n, m]`: for each of the n prefixes its m likeliest next words, in order.
    ///                 With m = 2k none of the others can come into question.
    void extend(std::span<const Choice> choices);

    /// Those that go on, the likeliest first; none when the search is over.
    const std::vector<Prefix>& prefixes() const { return prefixes_; }
    /// What was set aside, the best first: `n_best` of them, or as many as there are.
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
/// Translates all sentences at once, each by a `Beam`: one row of the batch is one prefix.
///
/// Sentences do not influence each other. Of equal sums that of the earlier prefix stands first,
/// and of one prefix the first word, so there is one result. With k = 1 it is that of
/// `greedy_decode_cached`, unless `Stopping::proven` looks further.
///
/// @param src  ids `[B, Ls]`, shorter sentences padded behind their end
/// @return     for each sentence its hypotheses, the best first: `n_best`, or as many as there are
/// @throws std::invalid_argument if `src` has another shape or does not fit the model, or an option
///         is out of its range; std::runtime_error if what the model says is not a number
std::vector<std::vector<Hypothesis>> beam_search(const Transformer& model, const Ids& src,
                                                 const BeamOptions& options);

}  // namespace abh
