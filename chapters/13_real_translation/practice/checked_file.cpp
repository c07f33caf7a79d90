#include "chapters/13_real_translation/practice/checked_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <charconv>
#include <span>
#include <vector>

namespace abh {
// [checksum]
namespace {

constexpr const char* own_numbers = sizeof(Real) == 4 ? "F32" : "F64";

template <class T>
uLong add(uLong sum, std::span<const T> numbers) {
    const std::span bytes = std::as_bytes(numbers);
    return ::crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

uLong add(uLong sum, std::string_view text) {
    const std::uint64_t length = text.size();  // so that "ab", "c" differs from "a", "bc"
    return add(add(sum, std::span(&length, 1)), std::span<const char>(text));
}

/// Adds elements as the file has them, whatever precision this program computes in.
template <class T>
uLong add_as(uLong sum, std::span<const Real> elements) {
    const std::vector<T> numbers(elements.begin(), elements.end());
    return add(sum, std::span<const T>(numbers));
}

std::string digits(uLong sum) {
    return fmt::format("{:08x}", sum);
}

std::string checksum_of(const TensorFile& content, std::string_view numbers) {
    uLong sum = 0;
    for (const auto& [name, text] : content.metadata)
        if (name != "checksum") sum = add(add(sum, name), text);
    for (const auto& [name, tensor] : content.tensors) {
        sum = add(add(sum, name), to_string(tensor.shape()));
        sum = numbers == "F32" ? add_as<float>(sum, tensor.values())
                               : add_as<double>(sum, tensor.values());
    }
    return digits(sum);
}

}  // namespace

std::string checksum(std::string_view bytes) {
    return digits(add(0, bytes));
}
// [checked file]
void save_checked(const std::filesystem::path& path, TensorFile content) {
    content.metadata["numbers"] = own_numbers;
    content.metadata["checksum"] = checksum_of(content, own_numbers);
    save_safetensors(path, content);
}

TensorFile load_checked(const std::filesystem::path& path) {
    TensorFile content = load_safetensors(path);
    const auto refuse_if = [&](bool wrong, const std::string& why) {
        if (wrong) throw std::runtime_error(fmt::format("{}: {}", path.string(), why));
    };
    const std::string numbers = content.metadata["numbers"], sum = content.metadata["checksum"];
    refuse_if(sum.empty(), "not a checkpoint of this chapter: it has no checksum");
    refuse_if(numbers != "F32" && numbers != own_numbers,
              fmt::format("its numbers are not {} like those of this program", own_numbers));
    const std::string found = checksum_of(content, numbers);
    refuse_if(found != sum, fmt::format("damaged: its content has the checksum {}", found));
    return content;
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
