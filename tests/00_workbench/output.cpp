// Once: what programs print and record: results, arrays, tables.
#include "lib/program/output.hpp"

#include <nlohmann/json.hpp>

#include "lib/io/files.hpp"
#include "tests/printed.hpp"
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

TEST_CASE("results are written as one object of values, units, what varies, what was disturbed") {
    const Folder folder;
    Results results(folder / "new");
    results.set("parameters", 44058112);
    results.set("words", "我 有 \"P\"");
    results.set_varying("seconds", 0.125, "s");
    results.set_varying("gain", 1.5, "", true);
    results.set_varying("slowest", "matmul");
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "new/results.json"));
    REQUIRE(json.size() == 5);
    REQUIRE(json["parameters"]["value"] == 44058112);
    REQUIRE(json["parameters"]["varies"] == false);
    REQUIRE(json["words"]["value"] == "我 有 \"P\"");
    REQUIRE(json["seconds"]["value"] == 0.125);
    REQUIRE(json["seconds"]["unit"] == "s");
    REQUIRE(json["seconds"]["varies"] == true);
    REQUIRE_FALSE(json["seconds"].contains("disturbed"));
    REQUIRE(json["slowest"]["value"] == "matmul");
    REQUIRE(json["slowest"]["varies"] == true);
    REQUIRE(json["gain"]["varies"] == true);
    REQUIRE(json["gain"]["disturbed"] == true);
}

TEST_CASE("a table prints aligned columns, at least as wide as their headings") {
    Results results;
    const std::string printed = written_to(1, [&] {
        Table table(results, {{"", "<8"},
                              {"d_k", "5"},
                              {"spread", "8.2f"},
                              {"largest weight", ".3f"},
                              {"over", "1"}});
        table.row("a", "toy", Index{64}, Real(0.5), 2.0 / 3, 1);
        table.row("b", "我", 4, -1, 10, 22);
    });
    CHECK(printed ==
          "            d_k    spread  largest weight  over\n"
          "toy          64      0.50           0.667     1\n"
          "我            4     -1.00          10.000    22\n");
}

TEST_CASE("a table records each value under the name that its column gives to the row") {
    const Folder folder;
    Results results(folder / "out");
    const std::string printed = written_to(1, [&] {
        Table table(results, {{"words", "<6", "{}_name"},
                              {"MB", "6.1f", "kept_{}_mb"},
                              {"printed only", "3"},
                              varying("ms", "6.2f", "{}_ms", "ms")});
        table.row("small", "few", 12.25, 7, 0.5);
        table.row(24, "more", "=", 8, "");  // text in a column of numbers, and an empty cell
        table.measured_row(true, "a", "some", 3, 9, 1.5);
        table.measured_row(false, "b", "", "", "", 2.5);
    });
    CHECK(printed ==
          "words       MB  printed only      ms\n"
          "few       12.2             7    0.50\n"
          "more         =             8\n"
          "some       3.0             9    1.50  disturbed\n"
          "                                2.50\n");
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "out/results.json"));
    CHECK(json.size() == 9);
    CHECK(json.at("small_name").at("value") == "few");
    CHECK(json.at("kept_small_mb").at("value") == 12.25);  // not the rounded 12.2 that is printed
    CHECK(json.at("kept_small_mb").at("varies") == false);
    CHECK(json.at("small_ms").at("varies") == true);
    CHECK(json.at("small_ms").at("unit") == "ms");
    CHECK(json.at("kept_24_mb").at("value") == "=");
    CHECK(json.at("a_ms").at("disturbed") == true);
    CHECK_FALSE(json.at("kept_a_mb").contains("disturbed"));  // it was counted, not measured
    CHECK_FALSE(json.at("b_ms").contains("disturbed"));
}

TEST_CASE("a row that does not fit its table is refused, and a name without a place for the key") {
    Results results;
    written_to(1, [&] {
        Table table(results, {{"a", "5"}, {"b", "5"}});
        CHECK_THROWS_WITH(table.row("x", 1), "table: 1 values in row x, expected 2");
        CHECK_THROWS_WITH(Table(results, {{"a", "5", "a_ms"}}),
                          "table: column a is recorded as a_ms, expected a name with {}");
    });
}
