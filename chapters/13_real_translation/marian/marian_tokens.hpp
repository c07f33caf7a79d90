#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [tokens]
using PieceIds = std::unordered_map<std::string, std::int32_t>;

/// A text that is an id as a whole, wherever it stands: a symbol such as `</s>`, or what somebody
/// has added to the vocabulary.
struct AddedToken {
    std::string text;
    std::int32_t id = 0;
    bool special = false;  ///< left out of translations
};

/// What tokenizer_config.json says, and added_tokens.json, special_tokens_map.json and
/// tokenizer.json, which count if it does not list the added tokens itself.
struct MarianTokens {
    bool two_vocabularies = false;  ///< target_vocab.json is the target's
    bool clean_up = false;          ///< translations lose the spaces in front of marks
    std::vector<AddedToken> added = {};
};

/// @param ids      of the source's pieces
/// @param n_words  what ids are below
/// @param end      the id of the end symbol
/// @throws std::runtime_error naming the file, the field and what was expected
MarianTokens read_marian_tokens(const std::filesystem::path& folder, const PieceIds& ids,
                                Index n_words, std::int32_t end);

/// A part of a text: an added token, or what stands between two of them.
struct TextPart {
    std::string text;
    const AddedToken* token = nullptr;
};
/// A text cut at its added tokens; where several begin, the longest counts.
std::vector<TextPart> split_at_tokens(const std::string& text,
                                      const std::vector<AddedToken>& added);
/// "It 's good ." as "It's good.", by the library's rules.
std::string without_spaces_before_marks(std::string text);

}  // namespace abh
