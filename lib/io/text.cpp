#include "lib/io/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [utf8]
Character first_character(std::string_view text) {
    if (text.empty()) return {};
    const auto first = static_cast<unsigned char>(text[0]);
    const auto ones = static_cast<std::size_t>(std::countl_one(first));  // they say how many bytes
    const std::size_t bytes = ones == 0 ? 1 : ones;
    if (ones == 1 || ones > 4 || bytes > text.size()) return {};
    char32_t code = first & (0xFFu >> ones);
    for (const char next : text.substr(1, bytes - 1)) {
        if ((next & 0xC0) != 0x80) return {};
        code = code << 6 | (next & 0x3F);
    }
    constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};  // for 1, 2, 3 and 4 bytes
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < least[bytes - 1] || surrogate || code > 0x10FFFF) return {};
    return {code, bytes};
}

std::size_t find_bad_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const Character c = first_character(text.substr(at));
        if (c.bytes == 0) return at;
        at += c.bytes;
    }
    return text.npos;
}
// [printable]
bool turns_direction(char32_t code) {
    return code == 0x061C || code == 0x200E || code == 0x200F ||
           (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string printable(std::string_view text, std::size_t most) {
    std::string shown;
    for (; !text.empty(); --most) {
        if (most == 0) return shown + "...";
        const Character c = first_character(text);
        const bool control = c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA0);  // or not UTF-8
        const bool ends_line = c.code == 0x2028 || c.code == 0x2029;
        const std::string_view bytes = text.substr(0, c.bytes == 0 ? 1 : c.bytes);
        text.remove_prefix(bytes.size());
        if (!control && !ends_line && !turns_direction(c.code))
            shown += bytes;
        else
            for (const char byte : bytes)
                shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
    }
    return shown;
}
// [kind]
namespace {

using namespace std::string_view_literals;

/// A kind of file, and the bytes with which its files begin.
struct Kind {
    std::string_view bytes, is;
};

constexpr auto utf_16 = "text in UTF-16; convert it (iconv -f UTF-16 -t UTF-8)"sv,
               utf_32 = "text in UTF-32; convert it (iconv -f UTF-32 -t UTF-8)"sv;

constexpr auto kinds = std::to_array<Kind>({
    {"\xFF\xFE\0\0"sv, utf_32},  // first, because it begins with the mark of UTF-16
    {"\0\0\xFE\xFF"sv, utf_32},
    {"\xFF\xFE"sv, utf_16},
    {"\xFE\xFF"sv, utf_16},
    {"\x1F\x8B"sv, "compressed with gzip; decompress it (gzip -d)"sv},
    {"\xFD\x37zXZ\0"sv, "compressed with xz; decompress it (xz -d)"sv},
    {"BZh91AY&SY"sv, "compressed with bzip2; decompress it (bzip2 -d)"sv},
    {"\x28\xB5\x2F\xFD"sv, "compressed with zstd; decompress it (zstd -d)"sv},
    {"PK\x03\x04"sv, "a zip archive or an office document; unpack it (unzip) or save it as text"sv},
    {"%PDF-"sv, "a PDF document; extract its text (pdftotext)"sv},
    {"version https://git-lfs.github.com/"sv,
     "a git-lfs pointer in place of the file; fetch the file itself (git lfs pull)"sv},
});

}  // namespace

std::string foreign_kind(std::string_view beginning) {
    beginning = beginning.substr(0, 4096);
    for (const auto& [bytes, is] : kinds)
        if (beginning.starts_with(bytes)) return std::string(is);
    // UTF-8 text has at most a stray zero byte
    const auto zeros = static_cast<std::size_t>(std::ranges::count(beginning, '\0'));
    if (64 * zeros <= beginning.size()) return "";
    return "text in UTF-16 or UTF-32, or not text at all; convert text to UTF-8 (iconv -t UTF-8)";
}
// [strict json]
nlohmann::json strict_json(std::string_view text, const JsonLimits& limits) {
    using nlohmann::json;
    using Event = json::parse_event_t;
    require(text.size() <= limits.bytes, "{} bytes, expected at most {}", text.size(),
            limits.bytes);
    std::vector<std::set<std::string>> names(static_cast<std::size_t>(limits.depth));  // by depth
    std::size_t values = 0;
    const auto watch = [&](int depth, Event event, const json& found) {
        const auto level = static_cast<std::size_t>(depth);
        if (event == Event::object_start || event == Event::array_start)
            require(level < names.size(), "nested deeper than {}", limits.depth);
        if (event == Event::object_start) names[level].clear();
        if (event == Event::key && !names[level - 1].insert(found.get<std::string>()).second)
            throw std::invalid_argument(
                fmt::format("\"{}\" occurs twice", printable(found.get<std::string>())));
        if (event != Event::key && event != Event::object_end && event != Event::array_end)
            require(++values <= limits.values, "more than {} values", limits.values);
        return event != Event::key;  // what the name stands for is gone through, but not kept
    };
    try {
        const json outermost = json::parse(text, watch);
        require(outermost.is_object(), "{}, expected an object", outermost.type_name());
        return json::parse(text);
    } catch (const json::exception& error) {
        const std::string_view why = error.what();  // it begins with [json.exception. and so on]
        throw std::invalid_argument(
            fmt::format("not JSON: {}", printable(why.substr(why.find(']') + 2), 200)));
    }
}

}  // namespace abh
