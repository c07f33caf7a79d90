#include "lib/io/file_kind.hpp"

#include <algorithm>
#include <array>

namespace abh {
// [known]
namespace {

using namespace std::string_view_literals;

/// Bytes that stand at a certain place of each file of a kind.
struct Kind {
    std::string_view bytes, is;
    std::size_t at = 0;
};

constexpr auto utf_16 = "text in UTF-16; convert it (iconv -f UTF-16 -t UTF-8)"sv,
               utf_32 = "text in UTF-32; convert it (iconv -f UTF-32 -t UTF-8)"sv,
               office = "a document of an office program; save it there as plain text in UTF-8"sv;

constexpr auto kinds = std::to_array<Kind>({
    {"\xFF\xFE\0\0"sv, utf_32},  // before the mark of 16 bits, which begins it
    {"\0\0\xFE\xFF"sv, utf_32},
    {"\xFF\xFE"sv, utf_16},
    {"\xFE\xFF"sv, utf_16},
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
}  // namespace
// [kind]
std::string foreign_kind(std::string_view beginning) {
    beginning = beginning.substr(0, 4096);
    for (const Kind& kind : kinds)
        if (beginning.substr(std::min(kind.at, beginning.size())).starts_with(kind.bytes))
            return std::string(kind.bytes.starts_with("PK") && is_office(beginning) ? office
                                                                                    : kind.is);
    // a text in UTF-8 has a stray zero byte at most
    const auto zeros = static_cast<std::size_t>(std::ranges::count(beginning, '\0'));
    if (64 * zeros <= beginning.size()) return "";
    return "text in UTF-16 or UTF-32, or no text; convert text to UTF-8 (iconv -t UTF-8)";
}

}  // namespace abh
