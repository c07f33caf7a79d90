#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "chapters/09_training/model/checkpoint.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"

namespace abh {
// [notes]
/// CRC-32, by zlib, in hexadecimal digits: tells whether two texts are the same.
std::string checksum(std::string_view bytes);
/// Bytes as hexadecimal digits, for the notes of a file, which are text.
std::string to_hex(std::string_view bytes);
/// @throws std::invalid_argument if `digits` are not what `to_hex` wrote
std::string from_hex(std::string_view digits);

/// What a file has besides tensors: named texts, such as what else a translation needs.
using Notes = std::map<std::string, std::string>;
/// What a file says about a model besides its weights: options and both subword models.
Notes model_notes(const TransformerOptions& options, const Subwords& source,
                  const Subwords& target);
/// The subword models in a file's notes, source and target.
/// @throws std::invalid_argument if there are none
std::pair<Subwords, Subwords> subwords_of(const TensorFile& file);
// [text model]
/// A Transformer and the subwords of its two languages, which is all that a translation needs. Its
/// sources end with the end symbol, as `source_batch` writes them.
struct TextModel {
    Transformer model;
    Subwords source, target;
    std::string made = "";  ///< how, if its file says so
};

/// Reads the file of a model, or a state of its training.
/// @throws std::runtime_error naming the file and what is wrong with it
TextModel load_text_model(const std::filesystem::path& path);

}  // namespace abh
