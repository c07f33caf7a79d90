#include "chapters/13_real_translation/practice/notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <charconv>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [checksum]
std::string checksum(std::string_view bytes) {
    const auto* const first = reinterpret_cast<const Bytef*>(bytes.data());
    return fmt::format("{:08x}", ::crc32_z(0, first, bytes.size()));
}
// [notes]
const std::string& note(const Notes& notes, const std::string& name) {
    const auto found = notes.find(name);
    require(found != notes.end(), "no {} in its notes", name);
    return found->second;
}

std::string to_hex(std::string_view bytes) {
    const std::vector<unsigned char> numbers(bytes.begin(), bytes.end());
    return fmt::format("{:02x}", fmt::join(numbers, ""));
}

std::string from_hex(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        unsigned char byte = 0;
        std::from_chars(&digits[i], &digits[i] + 2, byte, 16);
        bytes += static_cast<char>(byte);
    }
    require(to_hex(bytes) == digits, "hexadecimal digits: expected pairs of 0-9 and a-f");
    return bytes;
}

}  // namespace abh
