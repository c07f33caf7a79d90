#pragma once

#include <filesystem>

#include "chapters/09_training/model/transformer.hpp"
#include "chapters/13_real_translation/practice/notes.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"

namespace abh {
// [text model]
/// A Transformer and the subwords of its two languages, which is all that a translation needs. Its
/// sources end with the end symbol, as `source_batch` writes them.
struct TextModel {
    Transformer model;
    Subwords source, target;
    std::string made = "";  ///< how, if its file says so
};

/// What a file says about such a model besides its weights: options and both subword models.
Notes model_notes(const TransformerOptions& options, const Subwords& source,
                  const Subwords& target);
/// The subword models in a file's notes, source and target.
/// @throws std::invalid_argument if there are none
std::pair<Subwords, Subwords> subwords_of(const Notes& notes);

/// Reads the file of a model, or a state of its training.
/// @throws std::runtime_error naming the file and what is wrong with it
TextModel load_text_model(const std::filesystem::path& path);

}  // namespace abh
