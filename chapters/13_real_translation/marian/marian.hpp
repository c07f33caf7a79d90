#pragma once

#include <filesystem>
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
    bool renormalize = false;  ///< only words that may be said share the probability
    BeamOptions search = {};   ///< symbols, what may not be said, and what a file says of the rest
};

/// Reads config.json and, if there is one, generation_config.json; if there is none, config.json
/// says what belongs there, too. A field that would change the translation is followed or refused;
/// others are ignored.
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
    /// target_vocab.json; and what tokenizer_config.json, special_tokens_map.json,
    /// added_tokens.json and tokenizer.json say about tokens that are not cut into pieces.
    /// @throws std::runtime_error naming the file and what is wrong with it
    MarianWords(const std::filesystem::path& folder, const MarianConfig& config);

    /// The ids without the end symbol. A token such as `</s>` is one id wherever it occurs, and so
    /// is a language code (`>>deu<<`) at the beginning of the text between tokens.
    /// @throws std::invalid_argument if the text is not UTF-8, or contains the pad
    std::vector<std::int32_t> encode(const std::string& text) const;
    /// The text, without special tokens, such as the end, the pad and what is unknown. An id
    /// without a piece becomes "⁇".
    /// @throws std::invalid_argument for an id outside the vocabulary
    std::string decode(std::span<const std::int32_t> ids) const;

private:
    void add_ids(std::string_view text, std::vector<std::int32_t>& ids) const;

    Subwords source_, target_;
    PieceIds ids_;                     ///< of the source's pieces and tokens
    std::vector<std::string> pieces_;  ///< of the target, by id; of special tokens none
    std::vector<std::string> tokens_;  ///< that are not cut, the longest first
    std::int32_t unknown_, pad_;
    bool clean_up_;  ///< whether spaces before marks such as "." are dropped
};
// [translator]
/// The whole folder as a model that translates text.
/// @param folder  has config.json, model.safetensors, vocab.json, source.spm, target.spm, and
///                perhaps the other files named above
/// @throws std::runtime_error naming the file and what is wrong with it
LineTranslator marian_translator(const std::filesystem::path& folder);

}  // namespace abh
