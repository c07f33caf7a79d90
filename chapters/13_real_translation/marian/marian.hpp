#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "chapters/13_real_translation/search/translate_lines.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"

namespace abh {
// [config]
/// What config.json says about a model of Marian that the transformers library saved.
struct MarianConfig {
    TransformerOptions model;
    std::int32_t start = 0, end = 0;    ///< symbols; a source ends with `end`, too
    std::set<std::int32_t> never = {};  ///< words that may not be said, such as padding
    bool renormalize = false;           ///< only the other words share the probability
};

/// Reads config.json and, if there is one, generation_config.json. Options that change what the
/// model computes, or which words it may say, are either followed or refused. Beam width, length
/// penalty, limits and stopping rule come from `BeamOptions` instead.
/// @throws std::runtime_error naming the file, the field, its value and what was expected
MarianConfig read_marian_config(const std::filesystem::path& folder);
// [model]
/// The model with the weights of model.safetensors.
/// @throws std::runtime_error naming the file and what is wrong with it, such as a tensor that is
///         missing, has another shape, or does not belong to such a model
Transformer load_marian_model(const std::filesystem::path& folder, const MarianConfig& config);
// [words]
using PieceIds = std::unordered_map<std::string, std::int32_t>;

/// Turns text into ids and back. SentencePiece cuts text into pieces; vocab.json has their ids.
class MarianWords {
public:
    /// Reads source.spm, target.spm, vocab.json, and, if each language has a vocabulary of its own,
    /// target_vocab.json. Refuses a tokenizer that was extended or changed.
    /// @throws std::runtime_error naming the file and what is wrong with it
    MarianWords(const std::filesystem::path& folder, const MarianConfig& config);

    /// The ids without the end symbol. A language code at the beginning (`>>deu<<`) is one id.
    /// @throws std::invalid_argument if the text is not UTF-8
    std::vector<std::int32_t> encode(const std::string& text) const;
    /// The text, without the symbols for end, padding and unknown pieces. An id without a piece
    /// becomes "⁇". @throws std::invalid_argument for an id outside the vocabulary
    std::string decode(std::span<const std::int32_t> ids) const;

private:
    Subwords source_, target_;
    PieceIds ids_;                     ///< of the source's pieces
    std::vector<std::string> pieces_;  ///< of the target, by id
    std::int32_t unknown_;
};
// [translator]
/// The whole folder as a model that translates text.
/// @param folder  has config.json, model.safetensors, vocab.json, source.spm, target.spm, and
///                perhaps the other files named above
/// @throws std::runtime_error naming the file and what is wrong with it
LineTranslator marian_translator(const std::filesystem::path& folder);

}  // namespace abh
