// Once: files of published weights, mapped and found as they were written.
#include <sys/stat.h>

#include "chapters/15_language_model/published/gguf.hpp"
#include "lib/io/files.hpp"
#include "lib/io/safetensors.hpp"
#include "tests/support.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

const fs::path kinds_file = ABH_GOLDEN "/kinds.gguf";

/// Whether these bytes are a file, each of whose tensors lies in it. They lie alone in their
/// memory, so that the sanitizer sees a look beyond them.
bool is_sound(const std::string& content, const WeightFile& whole) {
    const std::vector<char> bytes(content.begin(), content.end());
    try {
        const WeightFile found = read_gguf(std::as_bytes(std::span(bytes)));
        const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
        for (const auto& [name, t] : found.tensors) {
            const BlockFormat& format = format_of(t.kind);
            const Index size = t.shape.size() / format.numbers * format.bytes;
            REQUIRE(t.shape[-1] % format.numbers == 0);
            REQUIRE(t.data >= first);
            REQUIRE(t.data + size <= first + bytes.size());
        }
        return found.tensors.size() == whole.tensors.size();
    } catch (const std::invalid_argument&) {
        return false;
    }
}

}  // namespace

TEST_CASE("a GGUF file's notes and tensors are found as they were written") {
    const WeightFile found = open_gguf(kinds_file);
    using Whole = std::vector<std::int64_t>;
    using Fractions = std::vector<double>;
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const std::string name("Ġ我\0", 6);
    const std::map<std::string, Note> expected{
        {"general.architecture", std::string("llama")},
        {"general.alignment", std::int64_t{64}},
        {"uint8", std::int64_t{255}},
        {"uint8 list", Whole{0, 255}},
        {"int8", std::int64_t{127}},
        {"int8 list", Whole{-128, 127}},
        {"uint16", std::int64_t{65535}},
        {"uint16 list", Whole{0, 65535}},
        {"int16", std::int64_t{32767}},
        {"int16 list", Whole{-32768, 32767}},
        {"uint32", std::int64_t{4294967295}},
        {"uint32 list", Whole{0, 4294967295}},
        {"int32", std::int64_t{2147483647}},
        {"int32 list", Whole{-2147483648, 2147483647}},
        {"uint64", most},
        {"uint64 list", Whole{0, most}},
        {"int64", most},
        {"int64 list", Whole{-most - 1, most}},
        {"float32", double{1e-5f}},
        {"float32 list", Fractions{-0.5, 1e-5f}},
        {"float64", 1e-5},
        {"float64 list", Fractions{-0.5, 1e-5}},
        {"bool", true},
        {"bool list", Whole{0, 1}},
        {"string", name},
        {"string list", std::vector<std::string>{"", name}},
    };
    for (const auto& [key, value] : expected) {
        CAPTURE(key);
        REQUIRE(found.notes.contains(key));
        CHECK((found.notes.at(key) == value));
    }
    CHECK(found.notes.size() == expected.size());

    const std::vector<std::tuple<std::string, NumberKind, Shape, std::size_t>> tensors{
        {"norm", NumberKind::f32, {5}, 20},
        {"half", NumberKind::f16, {2, 3}, 12},
        {"upper half", NumberKind::bf16, {3, 1, 2}, 12},
        {"bytes", NumberKind::q8_0, {2, 64}, 4 * 34},
        {"signed", NumberKind::q4_0, {1, 2, 3, 32}, 6 * 18},
        {"lifted", NumberKind::q4_1, {7, 32}, 7 * 20}};
    std::uint8_t number = 0;  // all bytes of a tensor are its number
    for (const auto& [key, kind, shape, size] : tensors) {
        CAPTURE(key);
        const StoredTensor& t = found.at(key, shape);
        CHECK(t.kind == kind);
        CHECK((t.data - found.file->bytes().data()) % 64 == 0);
        CHECK(std::count(t.data, t.data + size, std::byte{++number}) == static_cast<long>(size));
    }
    CHECK(found.tensors.size() == tensors.size());
    CHECK_THROWS_WITH(found.at("none", {5}), "tensor none is missing");
    CHECK_THROWS_WITH(found.at("half", {3, 2}), "tensor half has shape [2, 3], expected [3, 2]");
}

TEST_CASE("a GGUF file cut at any length or changed in any byte does no harm") {
    const std::string whole = read_file(kinds_file);
    const WeightFile found = open_gguf(kinds_file);
    const std::size_t end = whole.rfind('\6') + 1;  // of the last tensor
    CHECK(is_sound(whole.substr(0, end), found));
    for (std::size_t length = 0; length < end; ++length)
        if (is_sound(whole.substr(0, length), found)) FAIL(length);
    for (std::size_t at = 0; at < whole.find("\1\1\1\1\1\1\1\1"); ++at)
        for (const char c : {'\0', '\1', '\x20', '\x7F', '\x80', '\xFF'}) {
            std::string changed = whole;
            changed[at] = c;
            is_sound(changed, found);  // either is right, as long as nothing else is thrown
        }
}

TEST_CASE("a safetensors file's tensors are found where they lie") {
    const fs::path path = ABH_GOLDEN "/llama/half/model.safetensors";
    const WeightFile found = open_safetensors(path);
    const TensorFile loaded = load_safetensors(path);
    REQUIRE(found.tensors.size() == loaded.tensors.size());
    for (const auto& [name, tensor] : loaded.tensors) {
        const StoredTensor& t = found.at(name, tensor.shape());
        REQUIRE(t.kind == NumberKind::bf16);
        for (Index i = 0; i < tensor.size(); ++i) {  // the upper half of each number
            std::uint32_t bits = 0;
            std::memcpy(reinterpret_cast<char*>(&bits) + 2, t.data + 2 * i, 2);
            if (static_cast<Real>(std::bit_cast<float>(bits)) != tensor.data()[i]) FAIL(name);
        }
    }
    const Folder folder;
    const auto with = [&](const std::string& dtype, int bytes) {
        const std::string header = R"({"w":{"dtype":")" + dtype +
                                   R"(","shape":[2],"data_offsets":[0,)" + std::to_string(bytes) +
                                   "]}}";
        const std::string length = to_bytes(std::vector<std::uint64_t>{header.size()});
        return folder.put("file",
                          length + header + std::string(static_cast<std::size_t>(bytes), '\0'));
    };
    CHECK(open_safetensors(with("F32", 8)).at("w", {2}).kind == NumberKind::f32);
    CHECK(open_safetensors(with("F16", 4)).at("w", {2}).kind == NumberKind::f16);
    CHECK_THROWS_WITH(open_safetensors(with("F64", 16)),
                      (folder / "file").string() +
                          ": not a usable safetensors file: tensor w: "
                          "stored as F64; this reader knows F32, F16 and BF16");
    CHECK_THROWS_WITH(
        open_safetensors(with("F32", 12)),
        Contains(": not a usable safetensors file: tensor w: shape [2] needs 8 bytes"));
}

TEST_CASE("a file is mapped as it is, also if it is larger than memory") {
    const Folder folder;
    const std::string all("all\0bytes\xff", 10);
    for (const std::string& content : {all, std::string(300000, 'x')}) {
        const MappedFile file(folder.put("file", content));
        const auto* const first = reinterpret_cast<const char*>(file.bytes().data());
        CHECK(std::string(first, file.bytes().size()) == content);
    }
    const fs::path sparse = folder.put("sparse", read_file(kinds_file));
    std::error_code full;  // or a system without files that large
    fs::resize_file(sparse, std::uintmax_t{1} << 40, full);
    if (!full) CHECK(open_gguf(sparse).tensors.size() == 6);
}

TEST_CASE("what cannot be mapped is refused with the reason") {
    const Folder folder;
    const auto refused = [&](const fs::path& path, const std::string& why) {
        CHECK_THROWS_WITH(MappedFile(path), "cannot read " + path.string() + ": " + why);
    };
    refused(folder / "none", "No such file or directory");
    refused(folder.path, "Is a directory");
    refused(folder.put("empty", ""), "it is empty");
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    refused(folder / "pipe", "not a regular file");
    const fs::path pointer = folder.put("pointer", "version https://git-lfs.github.com/spec/v1\n");
    CHECK_THROWS_WITH(open_gguf(pointer), Contains("git lfs pull"));
    CHECK_THROWS_WITH(open_safetensors(pointer), Contains("git lfs pull"));
}
