#include "chapters/15_language_model/published/gguf.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

/// The blocks of all tensors lie in the file, and no two share a byte.
void fuzz::meet(std::string_view text) {
    const auto file = std::as_bytes(std::span(text));
    fuzz::accepted([&] {
        std::map<const std::byte*, const std::byte*> places;
        for (const auto& [name, t] : read_gguf(file).tensors) {
            const BlockFormat& format = format_of(t.kind);
            fuzz::expect(t.shape[-1] % format.numbers == 0, "a row ends within a block");
            const std::byte* const end = t.data + t.shape.size() / format.numbers * format.bytes;
            fuzz::expect(places.try_emplace(t.data, end).second, "two tensors in one place");
        }
        const std::byte* end = file.data();
        for (const auto& [first, last] : places) {
            fuzz::expect(first >= end && last > first, "tensors share bytes");
            end = last;
        }
        fuzz::expect(end <= file.data() + file.size(), "a tensor beyond the file");
    });
}
