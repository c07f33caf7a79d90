#include "lib/io/utf8.hpp"

#include <fmt/format.h>

#include <bit>

namespace abh {
// [utf8]
Character first_character(std::string_view text) {
    if (text.empty()) return {};
    const auto first = static_cast<unsigned char>(text[0]);
    const auto ones = static_cast<std::size_t>(std::countl_one(first));  // in front say how many
    const std::size_t bytes = ones == 0 ? 1 : ones;
    if (ones == 1 || ones > 4 || bytes > text.size()) return {};
    char32_t code = first & (0xFFu >> ones);
    for (const char next : text.substr(1, bytes - 1)) {
        if ((next & 0xC0) != 0x80) return {};
        code = code << 6 | (next & 0x3F);
    }
    constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};  // for which so many bytes are needed
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

bool is_utf8(std::string_view text) {
    return find_bad_utf8(text) == text.npos;
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
        const bool control = c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA0);  // or no UTF-8
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

}  // namespace abh
