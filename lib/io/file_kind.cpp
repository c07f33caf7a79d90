#include "lib/io/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>

namespace abh {
// [known]
namespace {

using namespace std::string_view_literals;

/// Bytes that stand at a certain place of each file of a kind.
struct Kind {
    std::string_view bytes, is;
    std::size_t at = 0;
};

constexpr auto wide_16 = "text in UTF-16; convert it (iconv -f UTF-16 -t UTF-8)"sv,
               wide_32 = "text in UTF-32; convert it (iconv -f UTF-32 -t UTF-8)"sv,
               office = "a document of an office program; save it there as plain text in UTF-8"sv;

constexpr auto kinds = std::to_array<Kind>({
    {"\xFF\xFE\0\0"sv, wide_32},  // before the mark of 16 bits, which begins it
    {"\0\0\xFE\xFF"sv, wide_32},
    {"\xFF\xFE"sv, wide_16},
    {"\xFE\xFF"sv, wide_16},
    {"\x1F\x8B"sv, "packed with gzip; unpack it (gzip -d)"sv},
    {"7zXZ\0"sv, "packed with xz; unpack it (xz -d)"sv, 1},
    {"1AY&SY"sv, "packed with bzip2; unpack it (bzip2 -d)"sv, 4},
    {"\x28\xB5\x2F\xFD"sv, "packed with zstd; unpack it (zstd -d)"sv},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7z archive; unpack it (7z x) and give the file that was in it"sv},
    {"Rar!\x1A\x07"sv, "a rar archive; unpack it (unrar x) and give the file that was in it"sv},
    {"ustar"sv, "a tar archive; unpack it (tar -xf) and give the file that was in it"sv, 257},
    {"PK\x03\x04"sv, "a zip archive; unpack it (unzip) and give the file that was in it"sv},
    {"PK\x05\x06"sv, "a zip archive without a file"sv},
    {"%PDF-"sv, "a PDF document; take its text out (pdftotext)"sv},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, office},
    {"{\\rtf"sv, office},
    {"version https://git-lfs.github.com/"sv,
     "a pointer that git-lfs leaves in a file's place; fetch the file itself (git lfs pull)"sv},
});

/// Documents that are zip archives tell by the names of their first files.
bool is_office(std::string_view zip) {
    return zip.find("[Content_Types].xml") != zip.npos ||
           zip.find("mimetypeapplication/vnd.oasis.opendocument") != zip.npos;
}
// [wide]
/// Do all characters of 32 bits have 21 at most? @param high, next  where their upper bytes stand
bool is_wide_32(std::string_view bytes, std::size_t high, std::size_t next) {
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4)
        if (bytes[i + high] != '\0' || static_cast<unsigned char>(bytes[i + next]) > 0x10)
            return false;
    return bytes.size() >= 4;
}

/// How many different bytes stand at the even places, or at the odd ones.
std::size_t different(std::string_view bytes, std::size_t first) {
    std::bitset<256> seen;
    for (std::size_t i = first; i < bytes.size(); i += 2)
        seen.set(static_cast<unsigned char>(bytes[i]));
    return seen.count();
}

/// Text of 16 or 32 bits a character that begins without a byte order mark. It shows by zero bytes,
/// of which a text in UTF-8 has a stray one at most. The upper bytes of a text's characters differ
/// less than the lower ones, and no character is zero.
std::string wide_text(std::string_view bytes) {
    const auto zeros = static_cast<std::size_t>(std::ranges::count(bytes, '\0'));
    if (64 * zeros <= bytes.size()) return "";
    const auto text_in = [](const char* encoding) {
        return fmt::format("text in {0}; convert it (iconv -f {0} -t UTF-8)", encoding);
    };
    if (is_wide_32(bytes, 3, 2)) return text_in("UTF-32LE");
    if (is_wide_32(bytes, 0, 1)) return text_in("UTF-32BE");
    for (std::size_t i = 0; i + 2 <= bytes.size(); i += 2)
        if (bytes[i] == '\0' && bytes[i + 1] == '\0') return "binary data, and no text";
    return text_in(different(bytes, 1) <= different(bytes, 0) ? "UTF-16LE" : "UTF-16BE");
}

}  // namespace
// [kind]
std::string foreign_kind(std::string_view beginning) {
    beginning = beginning.substr(0, 4096);
    for (const Kind& kind : kinds)
        if (beginning.substr(std::min(kind.at, beginning.size())).starts_with(kind.bytes))
            return std::string(kind.bytes.starts_with("PK") && is_office(beginning) ? office
                                                                                    : kind.is);
    return wide_text(beginning);
}

}  // namespace abh
