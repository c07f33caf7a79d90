// Once: GGUF files that are wrong, and how they are refused.
#include "chapters/15_language_model/published/gguf.hpp"

#include "lib/io/files.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

constexpr std::uint64_t huge = std::uint64_t{1} << 63;

template <class T>
std::string bytes(T number) {
    return to_bytes(std::vector<T>{number});
}

std::string text(const std::string& letters) {
    return bytes(std::uint64_t{letters.size()}) + letters;
}

std::string note(const std::string& name, std::uint32_t type, const std::string& value) {
    return text(name) + bytes(type) + value;
}

std::string list(std::uint32_t type, std::uint64_t n, const std::string& values = "") {
    return bytes(type) + bytes(n) + values;
}

/// @param sizes  from the innermost, as in the file
std::string tensor(const std::string& name, const std::vector<std::uint64_t>& sizes,
                   std::uint32_t type, std::uint64_t offset) {
    return text(name) + bytes(static_cast<std::uint32_t>(sizes.size())) + to_bytes(sizes) +
           bytes(type) + bytes(offset);
}

std::string head(std::uint64_t tensors, std::uint64_t notes, std::uint32_t version = 3) {
    return "GGUF" + bytes(version) + bytes(tensors) + bytes(notes);
}

/// A file with 160 bytes for tensors.
std::string file(const std::vector<std::string>& notes, const std::vector<std::string>& tensors) {
    std::string all = head(tensors.size(), notes.size());
    for (const auto* parts : {&notes, &tensors})
        for (const std::string& part : *parts) all += part;
    return all + std::string((all.size() + 31) / 32 * 32 - all.size() + 160, '\1');
}

std::string refusal(const std::string& content) {
    try {
        read_gguf(std::as_bytes(std::span(content)));
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("what is no GGUF file of version 2 or 3 is refused by what it is") {
    CHECK(refusal(head(0, 0, 2)) == "accepted");
    CHECK(refusal(head(0, 0, 3)) == "accepted");
    CHECK(refusal(head(0, 0, 1)) == "version 1, expected 2 or 3");
    CHECK(refusal(head(0, 0, 0)) == "version 0, expected 2 or 3");
    CHECK(refusal(head(0, 0, 3 << 24)) == "its numbers are big-endian, expected little-endian");
    CHECK(refusal("GGML" + head(0, 0)) == "it begins with GGML, expected GGUF");
    CHECK(refusal("GG") == "the head ends at byte 2, in the middle of a number");
    const Folder folder;
    const std::filesystem::path path = folder.put("wrong\n.gguf", "\x1B[2J");
    CHECK_THROWS_WITH(open_gguf(path), folder.path.string() +
                                           "/wrong\\x0A.gguf: not a usable GGUF file: it begins "
                                           "with \\x1B[2J, expected GGUF");
}

TEST_CASE("a note that asks for more than there is, or says what cannot be, is refused") {
    const auto refused = [](const std::string& n) { return refusal(file({n}, {})); };
    CHECK(refused(note("a", 9, list(4, 0))) == "accepted");
    CHECK_THAT(refusal(head(0, huge)), Contains("9223372036854775808 notes from byte 24 on"));
    CHECK_THAT(refusal(head(huge, 0)), Contains("9223372036854775808 tensors from byte 16 on"));
    CHECK_THAT(refused(bytes(huge)), Contains("9223372036854775808 letters from byte 32 on"));
    CHECK_THAT(refused(note("a", 8, bytes(huge))), Contains("note a: 9223372036854775808 letters"));
    for (const std::uint32_t type : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 11u, 12u})
        CHECK_THAT(refused(note("a", 9, list(type, huge))),
                   Contains("note a: 9223372036854775808 elements from byte 49 on"));
    // room for 21 texts of 8 bytes at least, not for one more
    CHECK_THAT(refused(note("a", 9, list(8, 21))), Contains("letters"));
    CHECK_THAT(refused(note("a", 9, list(8, 22))), Contains("22 elements"));
    const std::uint64_t limit = 1 << 26;  // of the head, whatever the file has
    CHECK_THAT(
        refused(note("a", 9, list(0, limit, std::string(limit, '\0')))),
        Contains(
            "note a: 67108864 elements from byte 49 on, where the head has 67108815 bytes left"));
    CHECK(refused(note("a", 9, list(9, 1))) ==
          "note a: a list of lists, expected numbers or texts");
    CHECK(refused(note("a", 13, "")) == "note a: type 13, expected 0 to 12");
    CHECK(refused(note("a", 9, list(13, 0))) == "note a: type 13, expected 0 to 12");
    CHECK(refused(note("a", 7, "\2")) == "note a: truth value 2, expected 0 or 1");
    CHECK(refused(note("a", 10, bytes(huge))) ==
          "note a: 9223372036854775808, expected at most 9223372036854775807");
    CHECK(refusal(file({note("a", 7, "\1"), note("a", 7, "\1")}, {})) == "note a: occurs twice");
    CHECK_THAT(refused(note("a\n" + std::string(200, 'b'), 99, "")),
               Contains("note a\\x0A" + std::string(98, 'b') + "...: type 99"));
}

TEST_CASE("a tensor that cannot lie where the file says is refused by its name") {
    const auto refused = [](const std::string& t) { return refusal(file({}, {t})); };
    CHECK(refused(tensor("w", {32, 5}, 8, 0)) != "accepted");  // 170 bytes of 160
    CHECK(refused(tensor("w", {32, 4}, 8, 0)) == "accepted");
    CHECK(refused(tensor("w", {40}, 0, 0)) == "accepted");
    CHECK(refused(tensor("w", {41}, 0, 0)) ==
          "tensor w: 164 bytes from 0 on, beyond the 160 that the file has for tensors");
    for (const std::uint64_t offset : {std::uint64_t{160}, std::uint64_t{192}, huge})
        CHECK_THAT(refused(tensor("w", {1}, 0, offset)), Contains("tensor w: 4 bytes from"));
    CHECK_THAT(refused(tensor("w", {8}, 0, ~std::uint64_t{31})),  // 2^64 - 32, and 32 bytes
               Contains("tensor w: 32 bytes from 18446744073709551584 on"));
    CHECK(refused(tensor("w", {1}, 0, 16)) == "tensor w: offset 16, expected a multiple of 32");
    CHECK(refused(tensor("w", {}, 0, 0)) == "tensor w: 0 sizes, expected 1 to 4");
    CHECK(refused(tensor("w", std::vector<std::uint64_t>(9, 1), 0, 0)) ==
          "tensor w: 9 sizes, expected 1 to 4");
    CHECK(refused(tensor("w", {4, 0}, 0, 0)) == "tensor w: size 0, expected at least 1");
    CHECK(refused(tensor("w", {huge}, 0, 0)) ==
          "tensor w: size 9223372036854775808, expected at least 1");
    CHECK_THAT(refused(tensor("w", {huge / 2 + 1, 4}, 0, 0)), Contains("too many elements"));
    CHECK(refused(tensor("w", {33, 32}, 2, 0)) ==
          "tensor w: rows of 33 numbers, expected whole blocks of 32");
    const std::string known = "; this reader knows F32, F16, BF16, Q8_0, Q4_0 and Q4_1";
    CHECK(refused(tensor("w", {256}, 12, 0)) == "tensor w: stored as Q4_K" + known);
    CHECK(refused(tensor("w", {256}, 14, 0)) == "tensor w: stored as Q6_K" + known);
    CHECK(refused(tensor("w", {256}, 23, 0)) == "tensor w: stored as IQ4_XS" + known);
    CHECK(refused(tensor("w", {256}, 41, 0)) == "tensor w: stored as Q1_0" + known);
    for (const std::uint32_t type : {31u, 42u, 255u})
        CHECK(refused(tensor("w", {256}, type, 0)) ==
              fmt::format("tensor w: stored as type {}{}", type, known));
}

TEST_CASE("tensors of a GGUF file neither share bytes nor a name") {
    const auto refused = [](const std::string& a, const std::string& b) {
        return refusal(file({}, {a, b}));
    };
    const std::string a = tensor("a", {17}, 0, 64);  // to byte 132
    CHECK(refused(a, tensor("b", {16}, 0, 0)) == "accepted");
    CHECK(refused(a, tensor("b", {17}, 0, 0)) ==
          "tensor a: begins at 64, before the end of another one at 68");
    CHECK_THAT(refused(a, tensor("b", {1}, 0, 64)), Contains("before the end of another one"));
    CHECK_THAT(refused(a, tensor("b", {1}, 0, 128)), Contains("tensor b: begins at 128"));
    CHECK(refused(a, tensor("a", {1}, 0, 0)) == "tensor a: occurs twice");
}

TEST_CASE("a GGUF file's alignment is a power of two") {
    const auto with = [](std::uint32_t type, std::uint32_t n, std::uint64_t offset) {
        return refusal(
            file({note("general.alignment", type, bytes(n))}, {tensor("w", {1}, 0, offset)}));
    };
    CHECK(with(4, 8, 8) == "accepted");
    CHECK(with(4, 8, 4) == "tensor w: offset 4, expected a multiple of 8");
    CHECK(with(4, 64, 32) == "tensor w: offset 32, expected a multiple of 64");
    for (const std::uint32_t n : {0u, 4u, 24u, 8192u, 1u << 31})
        CHECK_THAT(with(4, n, 0), Contains("expected a power of two from 8 to 4096"));
    CHECK_THAT(with(6, 0x42000000, 0), Contains("expected a power of two"));  // 32 as a fraction
}
