#include "chapters/15_language_model/published/gguf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "lib/io/text.hpp"

namespace abh {
// [format]
// "GGUF", version, number of tensors, number of notes; the notes: name, type, value; the places of
// the tensors: name, sizes from the innermost, type, offset; and, from the next multiple of the
// alignment, the tensors' blocks. A text is its length and its bytes, and so is a list.
namespace {

// [file head]
/// Reads a file from its beginning up to a limit. What it takes is there, or it throws.
class Head {
public:
    static constexpr std::size_t most_bytes = std::size_t{1} << 26;  // as numbers: eight times that

    explicit Head(std::span<const std::byte> file)
        : bytes_(file.first(std::min(file.size(), most_bytes))) {}

    std::size_t position() const { return position_; }
    template <class T>
    T number() {
        T value;
        std::memcpy(&value, take(sizeof(T)), sizeof(T));
        return value;
    }
    /// A number of things, for which there must be room.
    /// @param least  how many bytes each of them takes at least
    std::size_t count(const char* things, std::size_t least) {
        const auto n = number<std::uint64_t>();
        const std::size_t left = bytes_.size() - position_;
        require(n <= left / least, "{} {} from byte {} on, where the head has {} bytes left", n,
                things, position_, left);
        return n;
    }
    std::string text() {
        const std::size_t length = count("letters", 1);
        return {reinterpret_cast<const char*>(take(length)), length};
    }

private:
    const std::byte* take(std::size_t n) {
        require(n <= bytes_.size() - position_,
                "the head ends at byte {}, in the middle of a number", bytes_.size());
        return bytes_.data() + std::exchange(position_, position_ + n);
    }

    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
};
/// Calls `read`, and puts in front of what it refuses whose it is.
template <class Read>
void named(const char* what, const std::string& name, const Read& read) try {
    read();
} catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{} {}: {}", what, printable(name, 100), error.what()));
}
// [notes]
/// Types of notes, by number.
enum Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, truth, text, list, u64, i64, f64 };
constexpr std::array<std::size_t, 13> least_bytes{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

Type read_type(Head& head) {
    const auto type = head.number<std::uint32_t>();
    require(type < least_bytes.size(), "type {}, expected 0 to 12", type);
    return static_cast<Type>(type);
}

std::int64_t read_whole(Head& head, Type type) {
    if (type == i8) return head.number<std::int8_t>();
    if (type == u16) return head.number<std::uint16_t>();
    if (type == i16) return head.number<std::int16_t>();
    if (type == u32) return head.number<std::uint32_t>();
    if (type == i32) return head.number<std::int32_t>();
    const std::int64_t number =
        type == u64 || type == i64 ? head.number<std::int64_t>() : head.number<std::uint8_t>();
    require(type != u64 || number >= 0, "{}, expected at most {}",
            static_cast<std::uint64_t>(number), std::numeric_limits<std::int64_t>::max());
    require(type != truth || number <= 1, "truth value {}, expected 0 or 1", number);
    return number;
}

template <class Read>
Note read_list(std::size_t n, const Read& read) {
    std::vector<decltype(read())> values;
    values.reserve(n);
    while (values.size() < n) values.push_back(read());
    return values;
}

Note read_note(Head& head) {
    const Type type = read_type(head);
    if (type == text) return head.text();
    if (type == f32) return double{head.number<float>()};
    if (type == f64) return head.number<double>();
    if (type == truth) return read_whole(head, type) == 1;
    if (type != list) return read_whole(head, type);
    const Type of = read_type(head);
    require(of != list, "a list of lists, expected numbers or texts");
    const std::size_t n = head.count("elements", least_bytes[of]);
    if (of == text) return read_list(n, [&] { return head.text(); });
    if (of == f32) return read_list(n, [&] { return double{head.number<float>()}; });
    if (of == f64) return read_list(n, [&] { return head.number<double>(); });
    return read_list(n, [&] { return read_whole(head, of); });
}
// [tensors]
/// Types of tensors, by number. Numbers of types that exist no more stay free.
constexpr auto types = std::to_array<std::string_view>(
    {"F32",     "F16",   "Q4_0",   "Q4_1",  "Q4_2",  "Q4_3",   "Q5_0", "Q5_1",    "Q8_0",
     "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",  "Q6_K",   "Q8_K", "IQ2_XXS", "IQ2_XS",
     "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",   "I16",     "I32",
     "I64",     "F64",   "IQ1_M",  "BF16",  "",      "",       "",     "TQ1_0",   "TQ2_0",
     "",        "",      "",       "MXFP4", "NVFP4", "Q1_0"});

NumberKind read_kind(Head& head) {
    const auto type = head.number<std::uint32_t>();
    const bool named = type < types.size() && !types[type].empty();
    const std::string name = named ? std::string(types[type]) : fmt::format("type {}", type);
    const std::optional<NumberKind> kind = kind_named(name);
    require(kind.has_value(), "stored as {}; this reader knows F32, F16, BF16, Q8_0, Q4_0 and Q4_1",
            name);
    return *kind;
}

/// A tensor, and where its blocks lie among those of all.
struct Place {
    std::string name;
    NumberKind kind;
    Shape shape;
    std::uint64_t begin, bytes;
};

Place read_place(Head& head, std::string name) {
    const auto rank = head.number<std::uint32_t>();
    require(rank >= 1 && rank <= Shape::max_rank, "{} sizes, expected 1 to 4", rank);
    std::vector<Index> sizes(rank);
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {  // from the innermost
        *size = head.number<Index>();                                 // negative if it is too large
        require(*size > 0, "size {}, expected at least 1", static_cast<std::uint64_t>(*size));
    }
    const Shape shape{std::span<const Index>(sizes)};
    const NumberKind kind = read_kind(head);
    const BlockFormat& format = format_of(kind);
    require(shape[-1] % format.numbers == 0, "rows of {} numbers, expected whole blocks of {}",
            shape[-1], format.numbers);
    const Index bytes = shape.size() / format.numbers * format.bytes;
    return {std::move(name), kind, shape, head.number<std::uint64_t>(),
            static_cast<std::uint64_t>(bytes)};
}

/// Where the blocks of all tensors begin is a multiple of this, and so is each one's offset.
std::uint64_t alignment(const std::map<std::string, Note>& notes) {
    const auto found = notes.find("general.alignment");
    if (found == notes.end()) return 32;
    const auto* const bytes = std::get_if<std::int64_t>(&found->second);
    require(bytes && *bytes >= 8 && *bytes <= 4096 && std::has_single_bit(std::uint64_t(*bytes)),
            "note general.alignment: expected a power of two from 8 to 4096");
    return static_cast<std::uint64_t>(*bytes);
}
// [places]
std::map<std::string, StoredTensor> placed(std::vector<Place> places,
                                           std::span<const std::byte> data, std::uint64_t align) {
    std::map<std::string, StoredTensor> tensors;
    std::ranges::sort(places, {}, &Place::begin);
    std::uint64_t end = 0;  // of the tensor before
    for (const Place& p : places) {
        named("tensor", p.name, [&] {
            require(p.begin % align == 0, "offset {}, expected a multiple of {}", p.begin, align);
            require(p.begin <= data.size() && p.bytes <= data.size() - p.begin,
                    "{} bytes from {} on, beyond the {} that the file has for tensors", p.bytes,
                    p.begin, data.size());
            require(p.begin >= end, "begins at {}, before the end of another one at {}", p.begin,
                    end);
            const StoredTensor tensor{p.kind, p.shape, data.data() + p.begin};
            require(tensors.try_emplace(p.name, tensor).second, "occurs twice");
        });
        end = p.begin + p.bytes;
    }
    return tensors;
}

void check_beginning(Head& head) {
    const auto magic = head.number<std::array<char, 4>>();
    const std::string_view written(magic.data(), magic.size());
    require(written == "GGUF", "it begins with {}, expected GGUF", printable(written));
    const auto version = head.number<std::uint32_t>();
    require(version == 0 || version % 65536 != 0,
            "its numbers are big-endian, expected little-endian");
    require(version == 2 || version == 3, "version {}, expected 2 or 3", version);
}

}  // namespace

WeightFile read_gguf(std::span<const std::byte> bytes) {
    Head head(bytes);
    check_beginning(head);
    const std::size_t n_tensors = head.count("tensors", 32), n_notes = head.count("notes", 13);
    WeightFile content;
    for (std::size_t i = 0; i < n_notes; ++i) {
        std::string name = head.text();
        named("note", name, [&] {
            require(content.notes.try_emplace(name, read_note(head)).second, "occurs twice");
        });
    }
    std::vector<Place> places;
    for (std::size_t i = 0; i < n_tensors; ++i) {
        std::string name = head.text();
        named("tensor", name, [&] { places.push_back(read_place(head, name)); });
    }
    const std::uint64_t align = alignment(content.notes);
    const std::size_t begin = (head.position() + align - 1) / align * align;
    content.tensors =
        placed(std::move(places), bytes.subspan(std::min(begin, bytes.size())), align);
    return content;
}

}  // namespace abh
