#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace abh {
// [pieces]
/// The pieces that a text is written with, and how to find them.
struct BytePieces {
    std::vector<std::string> pieces;    ///< by id, as their bytes
    std::vector<std::int32_t> special;  ///< ids of those that stand for themselves: <|im_end|>
    /// A pair of pieces that become one. Merges that come earlier are done first.
    struct Merge {
        std::int32_t left, right, joined;
    };
    std::vector<Merge> merges;
};
/// The same from the strings that files hold, in which each byte is written as a printable letter
/// (a space as Ġ). Special pieces are written as they are.
/// @param merges  each two of these strings with a space between them
/// @throws std::invalid_argument naming what does not fit: a letter that stands for no byte, a
/// piece
///         that occurs twice, a merge of or to a piece that does not exist
BytePieces byte_pieces(const std::vector<std::string>& pieces,
                       const std::vector<std::int32_t>& special,
                       const std::vector<std::string>& merges);
// [cut text]
/// Cuts a text into the parts that are merged on their own: single digits of any script (`\p{N}`),
/// and in the stretches between them words, each with the space before it, runs of other signs, and
/// runs of white space, as GPT-2 does.
/// @throws std::invalid_argument naming the byte at which `text` stops being UTF-8
std::vector<std::string_view> cut_text(std::string_view text);
// [tokenizer]
/// One merge in a part: the pieces at its bytes [begin, middle) and [middle, end) become one.
struct MergeStep {
    std::int32_t merge;  ///< its place in the list of merges
    std::size_t begin, middle, end;
};

/// Writes texts as ids of pieces, and back. A text is cut at its special pieces and then by
/// `cut_text`. Each part begins as bytes, and of all neighbors the pair whose merge comes first is
/// joined, the leftmost of equal ones, until no pair has a merge. A byte without a piece is left
/// out, as in the library: SmolLM2 has none for 21 of the 256 bytes.
/// Sennrich et al. 2016; on bytes: Radford et al. 2019.
class ByteTokenizer {
public:
    /// @throws std::invalid_argument naming what does not fit: an id that does not exist, a merge
    ///         to a piece with other bytes, a pair that has two merges, an empty special piece
    explicit ByteTokenizer(BytePieces pieces);

    /// @param with_special  whether special pieces in the text are taken as such, or as any letters
    /// @throws std::invalid_argument naming the byte at which `text` stops being UTF-8
    std::vector<std::int32_t> encode(std::string_view text, bool with_special = true) const;
    /// The ids of one part.
    /// @param steps  gets the merges in the order in which they are done
    std::vector<std::int32_t> encode_part(std::string_view part,
                                          std::vector<MergeStep>* steps = nullptr) const;
    /// The place of two pieces' merge in the list, from 0 on; -1 if they have none.
    std::int32_t rank(std::int32_t left, std::int32_t right) const;
    /// The bytes of one piece, which may end or begin in the middle of a character.
    /// @throws std::invalid_argument if there is no such id
    const std::string& piece(std::int32_t id) const;
    /// The id of a special piece. @throws std::invalid_argument if there is none of this name
    std::int32_t special(std::string_view name) const;
    std::int32_t size() const { return static_cast<std::int32_t>(pieces_.pieces.size()); }

private:
    BytePieces pieces_;                       // the special ones sorted, the longest first
    std::string firsts_;                      // the bytes with which special pieces begin
    std::array<std::int32_t, 256> byte_ids_;  // -1 for a byte without a piece
    std::unordered_map<std::uint64_t, std::int32_t> ranks_;  // of two ids: the place of their merge
};
// [tokenizer.json]
/// Reads the library's tokenizer.json.
/// @throws std::runtime_error naming the file and what is not built: another model than BPE on
///         bytes, another way of cutting, a normalizer
BytePieces load_tokenizer_json(const std::filesystem::path& path);
/// The same from the text of such a file. @throws std::invalid_argument naming what is not built
BytePieces parse_tokenizer_json(std::string_view text);
// [stream]
/// Shows pieces as they come: holds back the bytes of a character until it is whole, and shows
/// bytes that are none, and control characters but line feed and tab, as `\xNN`.
class TextStream {
public:
    /// What can be shown after this piece, and never changes again.
    std::string add(std::string_view bytes);
    /// What is left at the end.
    std::string end();

private:
    std::string held_;
};

}  // namespace abh
