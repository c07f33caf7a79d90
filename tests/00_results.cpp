// Once: arrays and results, as the programs write them.
#include <nlohmann/json.hpp>

#include "lib/io/files.hpp"
#include "lib/io/results.hpp"
#include "tests/ways.hpp"

using namespace abh;

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
    "results are written as one object of values, units, tolerances, what varies, what was "
    "disturbed") {
    const Folder folder;
    Results results(folder / "new");
    results.set("parameters", 44058112);
    results.set("words", "我 有 \"P\"");
    results.set("accuracy", 97.5, 0.02);
    results.set_varying("seconds", 0.125, "s");
    results.set_varying("gain", 1.5, "", true);
    results.set_varying("slowest", "matmul");
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "new/results.json"));
    REQUIRE(json.size() == 6);
    REQUIRE(json["parameters"]["value"] == 44058112);
    REQUIRE(json["parameters"]["varies"] == false);
    REQUIRE_FALSE(json["parameters"].contains("within"));
    REQUIRE(json["accuracy"]["value"] == 97.5);
    REQUIRE(json["accuracy"]["within"] == 0.02);
    REQUIRE(json["words"]["value"] == "我 有 \"P\"");
    REQUIRE(json["seconds"]["value"] == 0.125);
    REQUIRE(json["seconds"]["unit"] == "s");
    REQUIRE(json["seconds"]["varies"] == true);
    REQUIRE_FALSE(json["seconds"].contains("disturbed"));
    REQUIRE(json["slowest"]["value"] == "matmul");
    REQUIRE(json["slowest"]["varies"] == true);
    REQUIRE(json["gain"]["varies"] == true);
    REQUIRE(json["gain"]["disturbed"] == true);

    Results nowhere;
    nowhere.set("x", 1);
    nowhere.array("x", Tensor({1}, {1}));
    nowhere.save();
    REQUIRE_FALSE(nowhere.wanted());
}
