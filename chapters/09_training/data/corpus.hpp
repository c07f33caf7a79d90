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
/// Words and their ids: 0, 1, 2, ... in the order in which the words were added.
class Vocabulary {
public:
    Vocabulary() = default;
    explicit Vocabulary(const std::vector<std::string>& words);

    /// The id of `word`, which is added if it is new.
    std::int32_t add(const std::string& word);
    /// @throws std::invalid_argument naming the word if it is unknown
    std::int32_t id(const std::string& word) const;
    /// @throws std::invalid_argument naming the id if no word has it
    const std::string& word(std::int32_t id) const;
    Index size() const { return static_cast<Index>(words_.size()); }
    const std::vector<std::string>& words() const { return words_; }

private:
    std::vector<std::string> words_;
    std::map<std::string, std::int32_t> ids_;
};

/// Splits a line into words at white space.
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

/// A corpus without pairs, whose vocabularies hold only the symbols.
Corpus empty_corpus();
/// Adds each new word of a pair to the vocabulary of its language.
void add_words(Corpus& corpus, const SentencePair& pair);

/// The three sentences of the Chinese-English toy, with its ids, and a fourth that is held out.
Corpus toy_corpus();
/// The two sentences of the German-English notebook, with its ids.
Corpus notebook_corpus();
/// Reads pairs from a UTF-8 file. A line holds the source sentence, a tab and the target sentence,
/// both made tidy (lib/io/unicode.hpp); further columns and empty lines are skipped. `P` in a
/// source is padding; a target must not contain any of the three symbols.
/// @param max_words  the most words in a sentence that the model can take
/// @throws std::runtime_error naming file, line and value if a line is not such a pair or not
///         UTF-8; naming the file if it is not text, contains no pair or cannot be read
Corpus read_corpus(const std::filesystem::path& path, Index max_words);
// [batch]
/// Sentences that are computed together, padded to the longest, and how they are packed.
/// `target_out` is `target_in` shifted by one place: the model predicts its word t from words 0..t
/// of that.
struct Batch {
    Sentences source;     ///< [B, Ls]
    Sentences target_in;  ///< [B, Lt], start symbol, then the words
    Ids target_out;       ///< [B, Lt], the words, then the end symbol
    /// `[1, rows]`, `target_out` without the pads after its sentences, as the loss reads it; if the
    /// batch is not packed, `target_out` itself.
    Ids targets;
    Index n_targets = 0;  ///< target words, with the end symbols and without pads
};

/// Packs a batch and counts its target words. Its packing leaves out the pads after the sentences,
/// so that layers compute nothing for them. A batch without pads is not packed, nor is one in which
/// a source begins with a pad, because attention might then find no key. All that a step reads
/// stands in one block of memory, which goes to a device as one.
/// @param source, target_in, target_out  `[B, Ls]`, `[B, Lt]`, `[B, Lt]`
Batch make_batch(const Ids& source, const Ids& target_in, const Ids& target_out,
                 std::int32_t pad = 0);
/// The batch of some pairs.
/// @throws std::invalid_argument naming a word that is not in the vocabularies
Batch make_batch(const Corpus& corpus, std::span<const SentencePair> pairs);
/// The batch of the pairs with these numbers.
Batch make_batch(const Corpus& corpus, std::span<const SentencePair> pairs,
                 std::span<const Index> numbers);
/// The ids of one source sentence, `[1, L]`.
/// @throws std::invalid_argument naming a word that is not in the vocabulary; also if `words` is
///         empty
Ids source_ids(const Vocabulary& vocabulary, const std::vector<std::string>& words);
/// The text that PyTorch prints for a tensor of whole numbers, for instance `tensor([1, 2, 3])`.
/// @param ids  `[n]` or `[m, n]`
/// @throws std::invalid_argument for another shape
std::string tensor_text(const Ids& ids);

}  // namespace abh
