#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "chapters/03_masks/packing.hpp"
#include "lib/random.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [vocabulary]
/// Words and their ids, 0, 1, 2, ... in the order in which they came.
class Vocabulary {
public:
    Vocabulary() = default;
    explicit Vocabulary(const std::vector<std::string>& words);

    /// The id of `word`, which is added if it is new.
    std::int32_t add(const std::string& word);
    /// @throws std::invalid_argument naming the word if it is unknown
    std::int32_t id(const std::string& word) const;
    const std::string& word(std::int32_t id) const;
    Index size() const { return static_cast<Index>(words_.size()); }
    const std::vector<std::string>& words() const { return words_; }

private:
    std::vector<std::string> words_;
    std::map<std::string, std::int32_t> ids_;
};

/// The words of a line, which white space separates.
std::vector<std::string> split_words(const std::string& line);
std::string join_words(const std::vector<std::string>& words);
// [corpus]
inline constexpr const char* pad_word = "P";    ///< id 0 in both vocabularies
inline constexpr const char* start_word = "S";  ///< first input of the decoder
inline constexpr const char* end_word = "E";    ///< last target of the decoder

/// A sentence and its translation.
struct SentencePair {
    std::vector<std::string> source, target;
};

/// Pairs to train on, pairs that training never sees, and the words of both languages.
struct Corpus {
    Vocabulary source, target;
    std::vector<SentencePair> train, held_out;
};

/// A corpus without pairs, whose vocabularies hold the symbols alone.
Corpus empty_corpus();
/// Adds the words of a pair to both vocabularies, where they are new.
void add_words(Corpus& corpus, const SentencePair& pair);

/// The three sentences of the Chinese-English toy, with the ids of its source.
Corpus toy_corpus();
/// The two sentences of the German-English notebook, with its ids.
Corpus notebook_corpus();
/// Pairs from a file in UTF-8: a line is the source sentence, a tab, the target sentence; further
/// columns and empty lines are passed over. `P` in a source is padding; a target must not hold one
/// of the three symbols.
/// @param max_words  the longest sentence that the model can take
/// @throws std::runtime_error naming file, line and value if a line is not such a pair; naming the
///         file if there is no pair in it, or if it cannot be read
Corpus read_corpus(const std::filesystem::path& path, Index max_words);
// [batch]
/// Sentences that are computed together, padded to the longest, or without their pads. `target_out`
/// is `target_in` one place further: what stands at t is to be guessed from places 0..t of
/// `target_in`.
struct Batch {
    Sentences source;     ///< [B, Ls]
    Sentences target_in;  ///< [B, Lt], start symbol, then the words
    Ids target_out;       ///< [B, Lt], the words, then the end symbol; or [1, rows] without pads
};

/// The batch without the pads behind its sentences: layers then compute nothing for them. Stays as
/// it is if there are none, or if a source begins with one, from which attention would find no key.
/// @param padded  its sentences have their pads
Batch leave_out_pads(const Batch& padded, std::int32_t pad);

/// The ids of some pairs.
/// @throws std::invalid_argument naming a word that is not in the vocabularies
Batch make_batch(const Corpus& corpus, std::span<const SentencePair> pairs);
/// The ids of the pairs with these numbers.
Batch make_batch(const Corpus& corpus, std::span<const SentencePair> pairs,
                 std::span<const Index> numbers);
/// The ids of one source sentence, `[1, L]`.
/// @throws std::invalid_argument naming a word that is not in the vocabulary, or if there is none
Ids source_ids(const Vocabulary& vocabulary, const std::vector<std::string>& words);
/// As PyTorch prints a tensor of whole numbers, for instance `tensor([1, 2, 3])`.
/// @param ids  `[n]` or `[m, n]`
std::string tensor_text(const Ids& ids);

}  // namespace abh
