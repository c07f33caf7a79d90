#include "chapters/13_real_translation/practice/checked_file.hpp"

#include <zlib.h>

#include <array>
#include <span>
#include <type_traits>

namespace abh {
// [checksum]
namespace {

constexpr const char* own_numbers = sizeof(Real) == 4 ? "F32" : "F64";

class Checksum {
public:
    void add(std::string_view bytes) {
        const std::uint64_t length = bytes.size();  // "ab", "c" is not "a", "bc"
        add(&length, sizeof length);
        add(std::data(bytes), bytes.size());
    }
    /// The elements as the file has them.
    template <class T>
    void add_elements(std::span<const Real> values) {
        std::array<T, 4096> part;
        while (!values.empty()) {
            const std::size_t n = std::min(part.size(), values.size());
            for (std::size_t i = 0; i < n; ++i) part[i] = static_cast<T>(values[i]);
            add(std::data(part), n * sizeof(T));
            values = values.subspan(n);
        }
    }
    std::string text() const { return fmt::format("{:08x}", value_); }

private:
    void add(const void* data, std::size_t bytes) {
        value_ = ::crc32_z(value_, static_cast<const Bytef*>(data), bytes);
    }
    uLong value_ = 0;
};

std::string checksum_of(const TensorFile& content, std::string_view numbers) {
    Checksum sum;
    for (const auto& [name, text] : content.metadata)
        if (name != "checksum") {
            sum.add(name);
            sum.add(text);
        }
    for (const auto& [name, tensor] : content.tensors) {
        sum.add(name);
        sum.add(to_string(tensor.shape()));
        if (numbers == "F32")
            sum.add_elements<float>(tensor.values());
        else
            sum.add_elements<double>(tensor.values());
    }
    return sum.text();
}

}  // namespace

std::string checksum(std::string_view bytes) {
    Checksum sum;
    sum.add(bytes);
    return sum.text();
}
// [checked file]
void save_checked(const std::filesystem::path& path, TensorFile content) {
    content.metadata["numbers"] = own_numbers;
    content.metadata["checksum"] = checksum_of(content, own_numbers);
    save_safetensors(path, content);
}

TensorFile load_checked(const std::filesystem::path& path) {
    TensorFile content = load_safetensors(path);
    const auto note = [&](const char* name) {
        const auto found = content.metadata.find(name);
        if (found == content.metadata.end())
            throw std::runtime_error(fmt::format("{}: no checkpoint of this chapter: it has no {}",
                                                 path.string(), name));
        return found->second;
    };
    const std::string numbers = note("numbers"), expected = note("checksum");
    if (numbers != "F32" && numbers != own_numbers)
        throw std::runtime_error(fmt::format("{}: its numbers are not {}, as this program's are",
                                             path.string(), own_numbers));
    if (const std::string found = checksum_of(content, numbers); found != expected)
        throw std::runtime_error(
            fmt::format("{}: damaged: its checksum is not {}", path.string(), found));
    return content;
}
// [hexadecimal]
std::string to_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte / 16];
        text += digits[byte % 16];
    }
    return text;
}

std::string from_hex(std::string_view digits) {
    const auto value = [](char c) {
        const bool decimal = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
        require(decimal || letter, "hexadecimal digits: not one of 0 to 9 and a to f");
        return decimal ? c - '0' : c - 'a' + 10;
    };
    require(digits.size() % 2 == 0, "hexadecimal digits: {} of them, expected an even number",
            digits.size());
    std::string bytes;
    bytes.reserve(digits.size() / 2);
    for (std::size_t i = 0; i < digits.size(); i += 2)
        bytes += static_cast<char>(16 * value(digits[i]) + value(digits[i + 1]));
    return bytes;
}

}  // namespace abh
