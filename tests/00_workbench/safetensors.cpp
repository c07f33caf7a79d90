// Once: safetensors: saved and read, and what is refused.
#include "lib/io/safetensors.hpp"

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "lib/io/files.hpp"
#include "tests/ways.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

/// The bytes of a number, little-endian.
template <class T>
std::string bytes(T number) {
    std::string text(sizeof number, '\0');
    std::memcpy(text.data(), &number, sizeof number);
    return text;
}

/// A safetensors file of this header and data.
std::string packed(const std::string& header, const std::string& data) {
    return bytes(std::uint64_t{header.size()}) + header + data;
}

/// A header with one entry.
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
}

/// The message with which a file is refused; it must name the file.
std::string refusal(const Folder& folder, const std::string& content) {
    const fs::path path = folder / "refused.safetensors";
    put(path, content);
    try {
        load_safetensors(path);
    } catch (const std::runtime_error& error) {
        const std::string message = error.what();
        REQUIRE(message.rfind(path.string() + ": not a usable safetensors file: ", 0) == 0);
        REQUIRE(message.find('\n') == std::string::npos);
        return message;
    }
    return "accepted";
}

const std::string data12(12, '\0');

}  // namespace

TEST_CASE("safetensors come back as they were saved, with their names and notes") {
    const Folder folder;
    TensorFile saved;
    const Real odd = Real(1) / 3;
    saved.tensors["b"] = Tensor({2, 3}, {1, -2, odd, 0, 5, std::numeric_limits<Real>::infinity()});
    saved.tensors["a.weight"] = Tensor({1, 1, 2, 1}, {odd, -odd});
    saved.tensors["number"] = Tensor(Shape{}, {7});
    saved.tensors["none"] = Tensor(Shape{3, 0});
    saved.tensors["name \"with\" 我"] = Tensor({1}, {4});
    saved.metadata = {{"epoch", "12"}, {"words", "我 有"}};
    save_safetensors(folder / "model.safetensors", saved);
    const TensorFile loaded = load_safetensors(folder / "model.safetensors");
    REQUIRE(loaded.metadata == saved.metadata);
    REQUIRE(loaded.tensors.size() == saved.tensors.size());
    for (const auto& [name, tensor] : saved.tensors) {
        const Tensor& back = loaded.at(name, tensor.shape());
        REQUIRE(std::memcmp(back.data(), tensor.data(),
                            static_cast<std::size_t>(tensor.size()) * sizeof(Real)) == 0);
    }
    REQUIRE_THROWS_WITH(loaded.at("c", {1}), "tensor c is missing");
    REQUIRE_THROWS_WITH(loaded.at("b", {3, 2}), "tensor b has shape [2, 3], expected [3, 2]");

    const std::string file = read_file(folder / "model.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    REQUIRE(length % 8 == 0);
    REQUIRE(file[8] == '{');
    REQUIRE(file.size() == 8 + length + 10 * sizeof(Real));
}

TEST_CASE("a trial of saving fails as saving would, and leaves nothing behind") {
    const Folder folder;
    TensorFile content;
    content.tensors["a"] = Tensor::full({100, 100}, 3);
    content.metadata["language"] = "中文";
    const fs::path file = folder.put("file", "before");
    try_to_save_safetensors(file, content);
    CHECK(read_file(file) == "before");
    CHECK(folder.count() == 1);

    const auto both = [&](const fs::path& path, const std::string& why) {
        CHECK_THROWS_WITH(try_to_save_safetensors(path, content), Contains(why));
        CHECK_THROWS_WITH(save_safetensors(path, content), Contains(why));
    };
    both(folder.path, "Is a directory");
    both(file / "inside", "Not a directory");
    if (fs::exists("/dev/full"))  // under the name that the file has until it is whole
        for (const auto save : {try_to_save_safetensors, save_safetensors}) {
            fs::create_symlink("/dev/full", folder / ("m.part" + std::to_string(::getpid())));
            CHECK_THROWS_WITH(save(folder / "m", content), Contains("No space left on device"));
        }
    content.metadata["language"] =
        "fran\xE7"
        "ais";
    both(file,
         "the note language is not UTF-8 at byte 5: fran\\xE7"
         "ais");
    CHECK(read_file(file) == "before");
    CHECK(folder.count() == 1);
}

TEST_CASE("a file without tensors is legal") {
    const Folder folder;
    save_safetensors(folder / "empty", {});
    REQUIRE(load_safetensors(folder / "empty").tensors.empty());
    put(folder / "spaces", packed("{}      ", ""));
    REQUIRE(load_safetensors(folder / "spaces").tensors.empty());
}

TEST_CASE("single and double precision are both read") {
    const Folder folder;
    put(folder / "single", packed(entry("F32", "[2]", "[0,8]"), bytes(1.5f) + bytes(-0.25f)));
    put(folder / "double", packed(entry("F64", "[1,2]", "[0,16]"), bytes(1.5) + bytes(-0.25)));
    REQUIRE(max_difference(load_safetensors(folder / "single").at("w", {2}),
                           Tensor({2}, {1.5, -0.25})) == 0);
    REQUIRE(max_difference(load_safetensors(folder / "double").at("w", {1, 2}),
                           Tensor({1, 2}, {1.5, -0.25})) == 0);
}

TEST_CASE("every number of 16 bits is read exactly") {
    const Folder folder;
    std::string all;
    for (unsigned bits = 0; bits < 65536; ++bits) all += bytes(static_cast<std::uint16_t>(bits));
    for (const bool half : {true, false}) {
        const int exponent_bits = half ? 5 : 8, fraction_bits = half ? 10 : 7;
        const unsigned top = (1u << exponent_bits) - 1, ones = 1u << fraction_bits;
        put(folder / "all", packed(entry(half ? "F16" : "BF16", "[65536]", "[0,131072]"), all));
        const Tensor found = load_safetensors(folder / "all").at("w", {65536});
        for (unsigned bits = 0; bits < 65536; ++bits) {
            const unsigned exponent = bits >> fraction_bits & top, fraction = bits & (ones - 1);
            const Real value = found(bits);
            if (std::signbit(value) != (bits >> 15 == 1) && !std::isnan(value)) FAIL(bits);
            if (exponent == top) {  // infinity, or not a number
                if (fraction > 0 ? !std::isnan(value) : !std::isinf(value)) FAIL(bits);
                continue;
            }
            // without an exponent the leading 1 is missing: a subnormal number, or zero
            const double digits = exponent == 0 ? fraction : ones + fraction;
            const int power = static_cast<int>(std::max(exponent, 1u)) - static_cast<int>(top / 2) -
                              fraction_bits;
            if (std::abs(static_cast<double>(value)) != std::ldexp(digits, power)) FAIL(bits);
        }
        CHECK(found(1) > 0);  // the smallest, 2^-24 or 2^-133
    }
}

TEST_CASE("a refusal does not repeat a file's control characters") {
    const Folder folder;
    const std::string found = refusal(folder, packed("{\"a\\u001b[31m\\n\":{\"shape\":3}}", ""));
    REQUIRE_THAT(found, Contains("tensor a\\x1B[31m\\x0A: no list shape"));
}

TEST_CASE("a safetensors header of wrong length or text is refused") {
    const Folder folder;
    const auto refused = [&](const std::string& header) {
        return refusal(folder, packed(header, ""));
    };
    REQUIRE_THAT(refusal(folder, ""), Contains("it has 0 bytes"));
    REQUIRE_THAT(refusal(folder, "1234567"), Contains("it has 7 bytes"));
    REQUIRE_THAT(refusal(folder, bytes(std::uint64_t{3}) + "{}"),
                 Contains("header length 3 in a file of 10 bytes"));
    REQUIRE_THAT(refusal(folder, bytes(std::uint64_t{100'000'001}) + "{}"),
                 Contains("header length 100000001"));
    REQUIRE_THAT(refusal(folder, bytes(~std::uint64_t{0}) + "{}"),
                 Contains("header length 18446744073709551615"));
    for (const char* text : {"", " {}", "[]", "null", "\xef\xbb\xbf{}"})
        REQUIRE_THAT(refused(text), Contains("the header does not begin with {"));
    for (const char* text : {"{", "{}x", "{\"a\":}", "{'a':1}", "{} {}", "{\"a\xff\":{}}",
                             "{\"__metadata__\":{\"a\":1e999}}"})
        REQUIRE_THAT(refused(text), Contains("not JSON"));
    REQUIRE_THAT(refused(std::string("{}\0", 3)), Contains("zero byte"));
    REQUIRE_THAT(refused(R"({"__metadata__":3})"), Contains("__metadata__ is not an object"));
    REQUIRE_THAT(refused(R"({"__metadata__":{"a":3}})"),
                 Contains("__metadata__ a is not a string"));
    REQUIRE_THAT(refused("{\"a\":" + std::string(100000, '[') + "}"), Contains("nested"));
    REQUIRE_THAT(refused(R"({"a":{"b":{"c":{"d":{"e":1}}}}})"), Contains("nested"));
}

TEST_CASE("a safetensors entry that does not add up is refused") {
    const Folder folder;
    struct Case {
        const char *dtype, *shape, *offsets, *refused;
    };
    const Case cases[] = {
        {"F32", "[3]", "[0,12]", "accepted"},
        {"F32", "[]", "[0,4]", "bytes after the last tensor: 8"},
        {"I16", "[6]", "[0,12]", "dtype \"I16\", expected F32, F64, F16 or BF16"},
        {"f16", "[6]", "[0,12]", "dtype \"f16\""},
        {"F16", "[3]", "[0,12]", "shape [3] needs 6 bytes, data_offsets span 12"},
        {"BF16", "[7]", "[0,12]", "shape [7] needs 14 bytes"},
        {"F32", "[4]", "[0,12]", "shape [4] needs 16 bytes, data_offsets span 12"},
        {"F32", "[1,1,1,1,3]", "[0,12]", "rank 5"},
        {"F32", "[-3]", "[0,12]", "shape holds -3"},
        {"F32", "[3.0]", "[0,12]", "shape holds 3.0"},
        {"F32", "[\"3\"]", "[0,12]", "shape holds \"3\""},
        {"F32", "3", "[0,12]", "no list shape"},
        {"F32", "[3]", "[-4,8]", "data_offsets holds -4"},
        {"F32", "[3]", "[12,0]", "data_offsets [12,0]"},
        {"F32", "[3]", "[0,12,12]", "data_offsets [0,12,12]"},
        {"F32", "[3]", "[12,24]", "lies at bytes 12 to 24"},
        {"F32", "[2]", "[4,12]", "expected to begin at 0"},
        {"F32", "[2]", "[0,8]", "bytes after the last tensor: 4"},
        {"F32", "[4]", "[0,16]", "end by 12"},
        // products that a 64-bit number does not hold: 2^62 * 4 + 12 bytes would look like 12
        {"F32", "[4611686018427387907]", "[0,12]", "too many elements"},
        {"F32", "[4294967296,4294967296]", "[0,0]", "too many"},
        {"F32", "[99999999999999999999]", "[0,12]", "shape holds"},
    };
    for (const auto& [dtype, shape, offsets, refused] : cases)
        CHECK_THAT(refusal(folder, packed(entry(dtype, shape, offsets), data12)),
                   Contains(refused));
    CHECK_THAT(refusal(folder, packed(R"({"w":3})", "")), Contains("no list shape"));
    CHECK_THAT(refusal(folder, packed(R"({"w":{"shape":[],"data_offsets":[0,0]}})", "")),
               Contains("dtype null"));
}

TEST_CASE("tensors that share bytes, leave holes or have one name are refused") {
    const Folder folder;
    const auto one = [](const std::string& name, int begin, int end) {
        return fmt::format(R"("{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})", name,
                           (end - begin) / 4, begin, end);
    };
    const auto refused = [&](const std::string& entries) {
        return refusal(folder, packed(fmt::format("{{{}}}", entries), data12));
    };
    REQUIRE(refused(one("a", 4, 12) + "," + one("b", 0, 4)) == "accepted");
    REQUIRE(refused(one("a", 0, 12) + "," + one("z", 0, 0) + "," + one("e", 12, 12)) == "accepted");
    REQUIRE_THAT(refused(one("a", 0, 8) + "," + one("b", 4, 12)), Contains("tensor b lies at"));
    REQUIRE_THAT(refused(one("a", 0, 4) + "," + one("b", 8, 12)), Contains("tensor b lies at"));
    REQUIRE_THAT(refused(one("a", 0, 12) + "," + one("b", 4, 4)), Contains("tensor b lies at"));
    REQUIRE_THAT(refused(one("a", 0, 4) + "," + one("a", 4, 12)), Contains("\"a\" occurs twice"));
    REQUIRE_THAT(
        refusal(folder,
                packed(R"({"w":{"dtype":"F32","shape":[3],"shape":[3],"data_offsets":[0,12]}})",
                       data12)),
        Contains("\"shape\" occurs twice"));

    std::string crowd;
    for (int i = 0; i < 100000; ++i)
        crowd += fmt::format("{}{}", i ? "," : "", one(fmt::format("{}", i), 0, 12));
    REQUIRE_THAT(refused(crowd), Contains("expected to begin at 12"));
    std::string values = R"("w":{"shape":[0)";
    for (int i = 0; i < 2'000'000; ++i) values += ",0";
    REQUIRE_THAT(refused(values + "]}"), Contains("more than 2000000 values"));
}

TEST_CASE("a safetensors file cut at any length or changed in any header byte does no harm") {
    const Folder folder;
    TensorFile saved;
    saved.tensors["a"] = Tensor({2, 2}, {1, 2, 3, 4});
    saved.tensors["b"] = Tensor({3}, {5, 6, 7});
    saved.metadata["note"] = "x";
    save_safetensors(folder / "whole", saved);
    const std::string whole = read_file(folder / "whole");
    REQUIRE(refusal(folder, whole) == "accepted");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        REQUIRE(refusal(folder, whole.substr(0, length)) != "accepted");
    }
    REQUIRE_THAT(refusal(folder, whole + '\0'), Contains("bytes after the last tensor: 1"));
    for (std::size_t at = 0; at < whole.size() - 7 * sizeof(Real); ++at)
        for (char c : {'\0', '\xff', '"', '{', '0', '9', '-', ' '}) {
            std::string changed = whole;
            changed[at] = c;
            refusal(folder, changed);  // either is right, as long as nothing else is thrown
        }
}
