// Files, safetensors, arrays and results, the command line.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/fast/parallel.hpp"
#include "lib/io/files.hpp"
#include "lib/io/safetensors.hpp"
#include "lib/program/program.hpp"
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

// Files ------------------------------------------------------------

TEST_CASE("a file that is not committed leaves nothing behind and keeps what stood there") {
    const Folder folder;
    { AtomicFile(folder / "new.txt").write("half"); }
    REQUIRE(folder.count() == 0);
    put(folder / "old.txt", "before");
    { AtomicFile(folder / "old.txt").write("half"); }
    REQUIRE(folder.count() == 1);
    REQUIRE(read_file(folder / "old.txt") == "before");
}

TEST_CASE("a committed file holds what was written, in folders made for it") {
    const Folder folder;
    const std::string text("all\0bytes\xff", 10);
    for (const std::string& content : {text, std::string(), std::string(300000, 'x')}) {
        AtomicFile file(folder / "a/b/file.bin");
        file.write(content);
        file.commit();
        REQUIRE(read_file(folder / "a/b/file.bin") == content);
    }
    REQUIRE(std::distance(fs::directory_iterator(folder / "a/b"), fs::directory_iterator()) == 1);
    const fs::path before = fs::current_path();
    fs::current_path(folder.path);
    AtomicFile bare("bare");
    bare.write("here");
    bare.commit();
    fs::current_path(before);
    REQUIRE(read_file(folder / "bare") == "here");
}

TEST_CASE("a place that cannot be written or read is named with the reason") {
    const Folder folder;
    put(folder / "file", "");
    REQUIRE_THROWS_WITH(AtomicFile(folder / "file/inside"),
                        "cannot write " + (folder / "file/inside").string() + ": Not a directory");
    REQUIRE_THROWS_WITH(AtomicFile(folder.path), Contains(": Is a directory"));
    REQUIRE_THROWS_WITH(AtomicFile("/proc/none/file"), Contains("cannot write /proc/none/file: "));
    REQUIRE_THROWS_WITH(read_file(folder / "none"), "cannot read " + (folder / "none").string() +
                                                        ": No such file or directory");
    REQUIRE_THROWS_WITH(read_file(folder.path), Contains(": Is a directory"));
    REQUIRE_THROWS_WITH(read_file(folder / "file/inside"), Contains(": Not a directory"));
}

TEST_CASE("what a link leads to is written, and what is no file is refused") {
    const Folder folder;
    fs::create_directory(folder / "there");
    put(folder / "there/file", "before");
    fs::create_symlink("there/file", folder / "link");
    fs::create_symlink(folder / "there/new", folder / "broken");
    for (const char* link : {"link", "broken"}) {
        AtomicFile file(folder / link);
        file.write("after");
        file.commit();
        REQUIRE(fs::is_symlink(folder / link));
    }
    REQUIRE(read_file(folder / "there/file") == "after");
    REQUIRE(read_file(folder / "there/new") == "after");
    fs::create_symlink("around", folder / "around");
    REQUIRE_THROWS_WITH(AtomicFile(folder / "around"), Contains("cannot write"));
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    REQUIRE_THROWS_WITH(AtomicFile(folder / "pipe"),
                        "cannot write " + (folder / "pipe").string() + ": not a file");
    REQUIRE_THROWS_WITH(AtomicFile("/dev/null"), "cannot write /dev/null: not a file");
    REQUIRE(fs::is_character_file("/dev/null"));
}

TEST_CASE("no more of a file is read than may be, whatever it is") {
    const Folder folder;
    put(folder / "file", std::string(100000, 'x'));
    REQUIRE(read_file(folder / "file", 100000).size() == 100000);
    REQUIRE_THROWS_WITH(read_file(folder / "file", 99999), Contains("more than 99999 bytes"));
    REQUIRE_THROWS_WITH(read_file("/dev/zero", 100000),
                        "cannot read /dev/zero: more than 100000 bytes, the most that are read");
}

TEST_CASE("a full disk is reported, and the old file stays") {
    if (!fs::exists("/dev/full")) return;
    const Folder folder;
    for (std::size_t size : {std::size_t{5}, std::size_t{100000}}) {
        const fs::path path = folder / "file.txt";
        put(path, "before");
        // the name under which the file is written until it is whole: a device without room
        fs::create_symlink("/dev/full", path.string() + ".part" + std::to_string(::getpid()));
        const auto write = [&] {
            AtomicFile file(path);
            file.write(std::string(size, 'x'));
            file.commit();
        };
        REQUIRE_THROWS_WITH(write(), "cannot write " + path.string() + ": No space left on device");
        REQUIRE(read_file(path) == "before");
        REQUIRE(folder.count() == 1);
    }
}

// Safetensors ------------------------------------------------------------

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

    saved.tensors["__metadata__"] = Tensor({1}, {4});
    REQUIRE_THROWS_AS(save_safetensors(folder / "model.safetensors", saved), std::invalid_argument);
    REQUIRE(read_file(folder / "model.safetensors") == file);
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
    put(folder / "odd", packed(entry("F16", "[3]", "[0,6]"), bytes(std::uint16_t{0x3c00}) +
                                                                 bytes(std::uint16_t{0xc100}) +
                                                                 bytes(std::uint16_t{0x3555})));
    REQUIRE(same_bits(load_safetensors(folder / "odd").at("w", {3}),
                      Tensor({3}, {1, Real(-2.5), Real(1365.0 / 4096)})));
}

TEST_CASE("a refusal does not repeat a file's control characters") {
    const Folder folder;
    const std::string found = refusal(folder, packed("{\"a\\u001b[31m\\n\":{\"shape\":3}}", ""));
    REQUIRE_THAT(found, Contains("tensor a?[31m? has no list shape"));
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
        REQUIRE_THAT(refused(text), Contains("it is not JSON"));
    REQUIRE_THAT(refused(std::string("{}\0", 3)), Contains("zero byte"));
    REQUIRE_THAT(refused(R"({"__metadata__":3})"), Contains("__metadata__ is not an object"));
    REQUIRE_THAT(refused(R"({"__metadata__":{"a":3}})"),
                 Contains("__metadata__ a is not a string"));
    REQUIRE_THAT(refused("{\"a\":" + std::string(100000, '[') + "}"), Contains("nested"));
    REQUIRE_THAT(refused(R"({"a":{"b":{"c":{"d":{"e":1}}}}})"), Contains("nested"));
}

TEST_CASE("a safetensors entry that does not add up is refused") {
    const Folder folder;
    const auto refused = [&](const std::string& dtype, const std::string& shape,
                             const std::string& offsets) {
        return refusal(folder, packed(entry(dtype, shape, offsets), data12));
    };
    REQUIRE(refused("F32", "[3]", "[0,12]") == "accepted");
    REQUIRE(refused("F32", "[]", "[0,4]") != "accepted");
    REQUIRE_THAT(refused("I16", "[6]", "[0,12]"),
                 Contains("dtype \"I16\", expected F32, F64, F16 or BF16"));
    REQUIRE_THAT(refused("f16", "[6]", "[0,12]"), Contains("dtype \"f16\""));
    REQUIRE_THAT(refused("F16", "[3]", "[0,12]"),
                 Contains("shape [3] needs 6 bytes, data_offsets hold 12"));
    REQUIRE_THAT(refused("BF16", "[7]", "[0,12]"), Contains("shape [7] needs 14 bytes"));
    REQUIRE_THAT(refused("F32", "[4]", "[0,12]"),
                 Contains("shape [4] needs 16 bytes, data_offsets hold 12"));
    REQUIRE_THAT(refused("F32", "[2]", "[0,12]"),
                 Contains("shape [2] needs 8 bytes, data_offsets hold 12"));
    REQUIRE_THAT(refused("F32", "[1,1,1,1,3]", "[0,12]"), Contains("rank 5"));
    REQUIRE_THAT(refused("F32", "[-3]", "[0,12]"), Contains("shape holds -3"));
    REQUIRE_THAT(refused("F32", "[3.0]", "[0,12]"), Contains("shape holds 3.0"));
    REQUIRE_THAT(refused("F32", "[\"3\"]", "[0,12]"), Contains("shape holds \"3\""));
    REQUIRE_THAT(refused("F32", "3", "[0,12]"), Contains("no list shape"));
    REQUIRE_THAT(refused("F32", "[3]", "[-4,8]"), Contains("data_offsets holds -4"));
    REQUIRE_THAT(refused("F32", "[3]", "[12,0]"), Contains("data_offsets [12,0]"));
    REQUIRE_THAT(refused("F32", "[3]", "[0,12,12]"), Contains("data_offsets [0,12,12]"));
    REQUIRE_THAT(refused("F32", "[3]", "[12,24]"), Contains("lies at bytes 12 to 24"));
    REQUIRE_THAT(refused("F32", "[2]", "[4,12]"), Contains("expected a start at 0"));
    REQUIRE_THAT(refused("F32", "[2]", "[0,8]"), Contains("4 bytes after the last tensor"));
    REQUIRE_THAT(refused("F32", "[4]", "[0,16]"), Contains("an end within 12"));
    // products that a 64-bit number does not hold: 2^62 * 4 + 12 bytes would look like 12
    REQUIRE_THAT(refused("F32", "[4611686018427387907]", "[0,12]"), Contains("too many elements"));
    REQUIRE_THAT(refused("F32", "[4294967296,4294967296]", "[0,0]"), Contains("too many"));
    REQUIRE_THAT(refused("F32", "[99999999999999999999]", "[0,12]"), Contains("shape holds"));
    REQUIRE_THAT(refusal(folder, packed(R"({"w":3})", "")), Contains("no list shape"));
    REQUIRE_THAT(refusal(folder, packed(R"({"w":{"shape":[],"data_offsets":[0,0]}})", "")),
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
    REQUIRE_THAT(refused(one("a", 0, 4) + "," + one("a", 4, 12)),
                 Contains("name \"a\" occurs twice"));
    REQUIRE_THAT(
        refusal(folder,
                packed(R"({"w":{"dtype":"F32","shape":[3],"shape":[3],"data_offsets":[0,12]}})",
                       data12)),
        Contains("name \"shape\" occurs twice"));

    std::string crowd, names;
    for (int i = 0; i < 100000; ++i)
        crowd += fmt::format("{}{}", i ? "," : "", one(fmt::format("{}", i), 0, 12));
    for (int i = 0; i < 100001; ++i) names += fmt::format("{}\"{}\":0", i ? "," : "", i);
    REQUIRE_THAT(refused(crowd), Contains("expected a start at 12"));
    REQUIRE_THAT(refused(names), Contains("too many names"));
    std::string values = R"("w":{"shape":[0)";
    for (int i = 0; i < 2'000'000; ++i) values += ",0";
    REQUIRE_THAT(refused(values + "]}"), Contains("too many values"));
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
    REQUIRE_THAT(refusal(folder, whole + '\0'), Contains("1 bytes after the last tensor"));
    for (std::size_t at = 0; at < whole.size() - 7 * sizeof(Real); ++at)
        for (char c : {'\0', '\xff', '"', '{', '0', '9', '-', ' '}) {
            std::string changed = whole;
            changed[at] = c;
            refusal(folder, changed);  // either is right, as long as nothing else is thrown
        }
}

// Arrays and results ------------------------------------------------------------

TEST_CASE("an array file has the header that NumPy reads and the elements behind it") {
    const Folder folder;
    const Results results(folder.path);
    results.array("reals", Tensor({2, 3}, {1, 2, 3, 4, 5, 6}));
    results.array("ids", Ids({3}, {7, -8, 9}));
    results.array("mask", Mask({1, 1, 2}, {0, 1}));
    results.array("number", Tensor(Shape{}, {4}));
    const auto check = [&](const std::string& name, const std::string& dict, const void* data,
                           std::size_t size) {
        const std::string file = read_file(folder / (name + ".npy"));
        REQUIRE(file.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
        const std::size_t length =
            static_cast<unsigned char>(file[8]) + 256u * static_cast<unsigned char>(file[9]);
        REQUIRE((10 + length) % 64 == 0);
        const std::string header = file.substr(10, length);
        REQUIRE(header.substr(0, dict.size()) == dict);
        REQUIRE(header.find_first_not_of(' ', dict.size()) == length - 1);
        REQUIRE(header.back() == '\n');
        REQUIRE(file.substr(10 + length) == std::string(static_cast<const char*>(data), size));
    };
    const std::string real = sizeof(Real) == 4 ? "<f4" : "<f8";
    const Real reals[] = {1, 2, 3, 4, 5, 6}, number[] = {4};
    const std::int32_t ids[] = {7, -8, 9};
    check("reals", "{'descr': '" + real + "', 'fortran_order': False, 'shape': (2, 3, ), }", reals,
          sizeof reals);
    check("ids", "{'descr': '<i4', 'fortran_order': False, 'shape': (3, ), }", ids, sizeof ids);
    check("mask", "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 2, ), }", "\0\1", 2);
    check("number", "{'descr': '" + real + "', 'fortran_order': False, 'shape': (), }", number,
          sizeof number);
}

TEST_CASE(
    "results are written as one object of values, units, what varies and what was disturbed") {
    const Folder folder;
    Results results(folder / "new");
    results.set("parameters", 44058112);
    results.set("words", "我 有 \"P\"");
    results.set_varying("seconds", 0.125, "s");
    results.set_varying("gain", 1.5, "", true);
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "new/results.json"));
    REQUIRE(json.size() == 4);
    REQUIRE(json["parameters"]["value"] == 44058112);
    REQUIRE(json["parameters"]["varies"] == false);
    REQUIRE(json["words"]["value"] == "我 有 \"P\"");
    REQUIRE(json["seconds"]["value"] == 0.125);
    REQUIRE(json["seconds"]["unit"] == "s");
    REQUIRE(json["seconds"]["varies"] == true);
    REQUIRE_FALSE(json["seconds"].contains("disturbed"));
    REQUIRE(json["gain"]["varies"] == true);
    REQUIRE(json["gain"]["disturbed"] == true);

    Results nowhere;
    nowhere.set("x", 1);
    nowhere.array("x", Tensor({1}, {1}));
    nowhere.save();
    REQUIRE_FALSE(nowhere.wanted());
}

// The command line ------------------------------------------------------------

namespace {

struct Outcome {
    int status;
    std::string out, err;
};

/// What `work` returns, and what it prints.
Outcome captured(const std::function<int()>& work) {
    const Folder folder;
    const char* const names[] = {"out", "err"};
    int kept[2];
    for (int i : {0, 1}) {
        std::fflush(i == 0 ? stdout : stderr);
        kept[i] = ::dup(i + 1);
        const int file = ::open((folder / names[i]).c_str(), O_WRONLY | O_CREAT, 0600);
        ::dup2(file, i + 1);
        ::close(file);
    }
    const int status = work();
    for (int i : {0, 1}) {
        std::fflush(i == 0 ? stdout : stderr);
        ::dup2(kept[i], i + 1);
        ::close(kept[i]);
    }
    return {status, read_file(folder / "out"), read_file(folder / "err")};
}

/// Runs a program with one option of its own.
Outcome run(
    std::vector<std::string> arguments,
    const std::function<void(Program&)>& body = [](Program&) {}) {
    arguments.insert(arguments.begin(), "/somewhere/demo");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    const Following as_before(way());  // the program chooses its own
    const Outcome outcome = captured([&] {
        Program program("A demonstration.");
        int width = 4;
        program.app().add_option("--width", width, "how wide");
        return program.run(static_cast<int>(argv.size()), argv.data(), [&] { body(program); });
    });
    set_threads(1);
    return outcome;
}

}  // namespace

TEST_CASE("a program knows the common options and its own") {
    const Outcome help = run({"--help"});
    REQUIRE(help.status == 0);
    REQUIRE(help.err.empty());
    for (const char* part : {"A demonstration.", "--help", "--seed", "--threads", "--way",
                             "--device", "--out", "--width", "how wide", "demo"})
        REQUIRE_THAT(help.out, Contains(part));

    const Outcome outcome =
        run({"--seed", "18446744073709551615", "--threads", "2", "--device", "cpu"},
            [](Program& program) {
                section("A section");
                fmt::print("{} {}\n", program.seed(), threads());
            });
    REQUIRE(outcome.status == 0);
    REQUIRE(outcome.out == "\n== A section ==\n18446744073709551615 2\n");
    REQUIRE(outcome.err.empty());
}

TEST_CASE("a program computes in the way that the command line names") {
    const auto way_of = [](const std::vector<std::string>& arguments) {
        Way found = Way::fast;
        const Outcome outcome = run(arguments, [&](Program&) { found = way(); });
        REQUIRE(outcome.status == 0);
        return found;
    };
    CHECK(way_of({}) == Way::fast);
    CHECK(way_of({"--way", "plain"}) == Way::plain);
    CHECK(way_of({"--way", "fast"}) == Way::fast);
    CHECK(way_of({"--way", "plain", "--device", "cpu"}) == Way::plain);
    if (ways_here().back() == Way::cuda)
        for (const char* option : {"--way", "--device"})
            CHECK(way_of({option, "cuda"}) == Way::cuda);
}

TEST_CASE("a wrong command line is one clear line and exit status 1") {
    const auto refused = [](std::vector<std::string> arguments) {
        const Outcome outcome = run(arguments, [](Program&) { fmt::print("ran\n"); });
        REQUIRE(outcome.status == 1);
        REQUIRE(outcome.out.empty());
        REQUIRE(outcome.err.rfind("demo: ", 0) == 0);
        REQUIRE(outcome.err.find('\n') == outcome.err.size() - 1);
        return outcome.err;
    };
    REQUIRE_THAT(refused({"--wdith", "3"}), Contains("--wdith"));
    REQUIRE_THAT(refused({"stray"}), Contains("stray"));
    REQUIRE_THAT(refused({"--width"}), Contains("--width"));
    REQUIRE_THAT(refused({"--width", "wide"}), Contains("wide"));
    REQUIRE_THAT(refused({"--threads", "0"}), Contains("--threads"));
    REQUIRE_THAT(refused({"--threads", "257"}), Contains("257"));
    REQUIRE_THAT(refused({"--seed", "-1"}), Contains("--seed"));
    REQUIRE_THAT(refused({"--seed", "18446744073709551616"}), Contains("--seed"));
    REQUIRE_THAT(refused({"--device", "tpu"}), Contains("tpu") && Contains("cuda"));
    REQUIRE_THAT(refused({"--way", "quick"}), Contains("quick") && Contains("plain"));
    for (const char* name : {"plain", "fast"})
        REQUIRE(refused({"--device", "cuda", "--way", name}) ==
                fmt::format("demo: --way {} and --device cuda exclude each other\n", name));
    REQUIRE(refused({"--device", "cpu", "--way", "cuda"}) ==
            "demo: --device cpu and --way cuda exclude each other\n");
}

TEST_CASE("what a program's work throws is one line, and no results are written") {
    const Folder folder;
    put(folder / "results.json", "before");
    const Outcome outcome = run({"--out", folder.path.string()}, [](Program& program) {
        program.results().set("x", 1);
        require_shape({2}, {3}, "demo", "x");
    });
    REQUIRE(outcome.status == 1);
    REQUIRE(outcome.err == "demo: demo: x has shape [2], expected [3]\n");
    REQUIRE(read_file(folder / "results.json") == "before");
    REQUIRE(folder.count() == 1);
    const Outcome hostile = run({}, [](Program&) {
        throw std::runtime_error("tensor a\x1b[2J\nb\x7f\u009b 我 is missing");
    });
    REQUIRE(hostile.err == "demo: tensor a\\x1B[2J\\x0Ab\\x7F\\xC2\\x9B 我 is missing\n");
    const std::string hidden[] = {"\u061c", "\u200b", "\u200e", "\u200f", "\u2028", "\u2029",
                                  "\u202a", "\u202e", "\u2066", "\u2069", "\ufeff"};
    for (const std::string& character : hidden) {  // what turns, hides or ends a line
        std::string bytes;
        for (const char byte : character)
            bytes += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
        REQUIRE(run({}, [&](Program&) { throw std::runtime_error("a" + character + "b"); }).err ==
                "demo: a" + bytes + "b\n");
    }
    const std::string visible = "\u061b\u061d\u200a\u2010\u2027\u202f\u2065\u206a\ufefe\u00a0";
    REQUIRE(run({}, [&](Program&) { throw std::runtime_error(visible); }).err ==
            "demo: " + visible + "\n");
    REQUIRE(run({}, [](Program&) { throw std::runtime_error("cut \xE2\x80"); }).err ==
            "demo: cut \xE2\x80\n");
    const Outcome endless =
        run({}, [](Program&) { throw std::runtime_error(std::string(9999, 'x')); });
    REQUIRE(endless.err == "demo: " + std::string(2000, 'x') + "...\n");
    const Outcome memory = run({}, [](Program&) { throw std::bad_alloc(); });
    REQUIRE(memory.status == 1);
    REQUIRE(memory.err == "demo: not enough memory\n");
}

TEST_CASE("a program writes its results, and finds out before its work that it cannot") {
    const Folder folder;
    const auto body = [](Program& program) {
        fmt::print("ran\n");
        program.results().set("x", 1);
    };
    REQUIRE(run({"--out", (folder / "here").string()}, body).status == 0);
    REQUIRE(nlohmann::json::parse(read_file(folder / "here/results.json"))["x"]["value"] == 1);
    put(folder / "file", "");
    const Outcome outcome = run({"--out", (folder / "file").string()}, body);
    REQUIRE(outcome.status == 1);
    REQUIRE(outcome.out.empty());
    REQUIRE_THAT(outcome.err, Contains("cannot write") && Contains("Not a directory"));
}

TEST_CASE("output to a full disk is an error") {
    if (!fs::exists("/dev/full")) return;
    const Following as_before(way());
    const Outcome outcome = captured([] {
        const int kept = ::dup(1), full = ::open("/dev/full", O_WRONLY);
        ::dup2(full, 1);
        std::string name = "demo";
        char* argv[] = {name.data()};
        Program program("A demonstration.");
        const int status = program.run(1, argv, [] { fmt::print("lost\n"); });
        ::dup2(kept, 1);
        ::close(kept);
        ::close(full);
        std::clearerr(stdout);
        return status;
    });
    REQUIRE(outcome.status == 1);
    REQUIRE(outcome.err == "demo: cannot write the output: No space left on device\n");
}

TEST_CASE("a progress bar is not shown where the output is no terminal") {
    const Outcome outcome = captured([] {
        Progress progress("training", 10);
        for (Index i = 0; i <= 10; ++i) progress.show(i, "loss");
        return 0;
    });
    REQUIRE(outcome.out.empty());
    REQUIRE(outcome.err.empty());
}
