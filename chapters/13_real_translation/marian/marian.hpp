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
/// What config.json says of a model of Marian that the transformers library stored.
struct MarianConfig {
    TransformerOptions model;
    std::int32_t start = 0, end = 0;    ///< symbols; a source ends with `end`, too
    std::set<std::int32_t> never = {};  ///< words that are not to be said: padding, for one
    bool renormalize = false;           ///< probabilities are shared among all other words
};

/// Reads config.json and, where there is one, generation_config.json. What changes what the model
/// computes is either followed or refused, and so is what changes which words may be said. Width,
/// length penalty, limit and stopping rule are those of `BeamOptions`.
/// @throws std::runtime_error naming the file, the field, its value and what was expected
MarianConfig read_marian_config(const std::filesystem::path& folder);
// [model]
/// The model with the weights of model.safetensors.
/// @throws std::runtime_error naming the file and what is wrong with it: a tensor that is missing,
///         has another shape, or is none of such a model's
Transformer load_marian_model(const std::filesystem::path& folder, const MarianConfig& config);
// [words]
using PieceIds = std::unordered_map<std::string, std::int32_t>;

/// Text as ids and back. SentencePiece cuts a text into pieces; vocab.json, and not SentencePiece,
/// says which id a piece has.
class MarianWords {
public:
    /// Reads source.spm, target.spm, vocab.json, and, where each language has a vocabulary of its
    /// own, target_vocab.json. A tokenizer that was extended or changed is refused.
    /// @throws std::runtime_error naming the file and what is wrong with it
    MarianWords(const std::filesystem::path& folder, const MarianConfig& config);

    /// Without the end symbol. A language code in front, such as `>>deu<<`, is one word.
    /// @throws std::invalid_argument if the text is not UTF-8
    std::vector<std::int32_t> encode(const std::string& text) const;
    /// The symbols for end, padding and unknown pieces are left out; an id without a piece becomes
    /// "⁇".
    std::string decode(std::span<const std::int32_t> ids) const;

private:
    Subwords source_, target_;
    PieceIds ids_;                     ///< of the source's pieces
    std::vector<std::string> pieces_;  ///< of the target, by id
    std::int32_t unknown_;
};
// [translator]
/// All of it: a model that translates text.
/// @param folder  config.json, model.safetensors, vocab.json, source.spm, target.spm, and files
///                that need not be there
/// @throws std::runtime_error naming the file and what is wrong with it
LineTranslator marian_translator(const std::filesystem::path& folder);

}  // namespace abh
