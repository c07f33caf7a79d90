#include "chapters/13_real_translation/practice/text_model.hpp"

#include <fmt/ranges.h>
#include <zlib.h>

#include <charconv>
#include <vector>

namespace abh {
// [notes]
std::string checksum(std::string_view bytes) {
    const auto* const first = reinterpret_cast<const Bytef*>(bytes.data());
    return fmt::format("{:08x}", ::crc32_z(0, first, bytes.size()));
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

Notes model_notes(const TransformerOptions& options, const Subwords& source,
                  const Subwords& target) {
    return {{"options", to_json(options)},
            {"source_subwords", to_hex(source.model())},
            {"target_subwords", to_hex(target.model())}};
}

std::pair<Subwords, Subwords> subwords_of(const TensorFile& file) {
    return {Subwords(from_hex(note(file, "source_subwords"))),
            Subwords(from_hex(note(file, "target_subwords")))};
}
// [files]
TextModel load_text_model(const std::filesystem::path& path) {
    const TensorFile file = load_safetensors(path);
    try {
        auto [source, target] = subwords_of(file);
        Transformer model = model_of(file);
        const TransformerOptions& options = model.options();
        require(source.size() == options.src_words && target.size() == options.tgt_words,
                "it has {} and {} subwords, but its model has {} and {} words", source.size(),
                target.size(), options.src_words, options.tgt_words);
        const auto made = file.metadata.find("made");
        return {std::move(model), std::move(source), std::move(target),
                made == file.metadata.end() ? "" : made->second};
    } catch (const std::exception& error) {
        throw std::runtime_error(
            fmt::format("{}: not a model of this chapter: {}", path.string(), error.what()));
    }
}

}  // namespace abh
