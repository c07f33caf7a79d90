#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chapters/13_real_translation/data/token_batches.hpp"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace abh {
// [subwords]
/// A SentencePiece model, which cuts text into pieces of words and joins them again.
class Subwords {
public:
    /// Learns pieces by byte pair encoding. The same sentences give the same model.
    /// @param sentences  in UTF-8, of one language or of two that share a vocabulary
    /// @param n_pieces   the most pieces, including symbols and bytes; short texts give fewer
    /// @param byte_fallback  whether characters without a piece become bytes, so none is unknown
    /// @throws std::invalid_argument if `n_pieces` is too small for the characters of the text,
    ///         there is no text, or it is not UTF-8
    static Subwords train(std::span<const std::string> sentences, Index n_pieces,
                          bool byte_fallback = true);
    /// @param model  the bytes of a .model file
    /// @throws std::runtime_error if they are not a SentencePiece model
    explicit Subwords(std::string model);

    /// The bytes of the model, to write into a file or a checkpoint.
    const std::string& model() const { return model_; }

    /// The ids of a text's pieces, without start and end symbols.
    /// @throws std::invalid_argument if `text` is not UTF-8
    std::vector<std::int32_t> encode(const std::string& text) const;
    /// The text of these pieces, without start, end and pad. Pieces from `encode` give back exactly
    /// its text, except that "▁" becomes a space, which is its meaning in pieces. Bytes that are
    /// not UTF-8 become U+FFFD.
    /// @throws std::invalid_argument for an id that does not exist
    std::string decode(std::span<const std::int32_t> ids) const;
    /// A text's pieces as SentencePiece shows them: "▁" stands for a space, <0x41> for a byte.
    /// @throws std::invalid_argument if `text` is not UTF-8
    std::vector<std::string> pieces(const std::string& text) const;
    /// Joins pieces that are given as text. @throws std::invalid_argument if one is not UTF-8
    std::string join(const std::vector<std::string>& pieces) const;
    /// The piece with this id. @throws std::invalid_argument for an id that does not exist
    std::string piece(std::int32_t id) const;

    Index size() const;
    /// In models from `train`, pad, start and end are 0, 2 and 3. Other models may lack some of
    /// these symbols, which are then -1.
    Symbols symbols() const;

private:
    std::string model_;
    std::shared_ptr<const sentencepiece::SentencePieceProcessor> processor_;  ///< never changes
};

/// The model in a file. @throws std::runtime_error naming the file and what is wrong with it
Subwords load_subwords(const std::filesystem::path& path);
// [subword model]
constexpr std::size_t largest_model = std::size_t{1} << 26;  ///< bytes
/// Checks the bytes of a SentencePiece model before the library reads them, because it trusts some
/// of them: a table of characters that points outside itself makes it read memory not its own.
/// @throws std::runtime_error saying what is wrong
void require_sound_model(std::string_view model);

}  // namespace abh
