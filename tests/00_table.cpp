// Once: tables that print and record.
#include <nlohmann/json.hpp>

#include "lib/io/files.hpp"
#include "lib/program/table.hpp"
#include "tests/printed.hpp"
#include "tests/support.hpp"

using namespace abh;

TEST_CASE("a table prints aligned columns, at least as wide as their headings") {
    Results results;
    const Printed printed;
    Table table(
        results,
        {{"", "<8"}, {"d_k", "5"}, {"spread", "8.2f"}, {"largest weight", ".3f"}, {"über", "1"}},
        printed.file());
    table.row("a", "toy", Index{64}, Real(0.5), 2.0 / 3, 1);
    table.row("b", "我", 4, -1, 10, 22);
    CHECK(printed.text() ==
          "            d_k    spread  largest weight  über\n"
          "toy          64      0.50           0.667     1\n"
          "我            4     -1.00          10.000    22\n");
}

TEST_CASE("a table records each value under the name that its column gives to the row") {
    const Folder folder;
    Results results(folder / "out");
    const Printed printed;
    Table table(results,
                {{"words", "<8", "{}_name"},
                 {"MB", "6.1f", "kept_{}_mb"},
                 {"printed only", "3"},
                 varying("ms", "6.2f", "{}_ms", "ms")},
                printed.file());
    table.row("small", "few", 12.25, 7, 0.5);
    table.row(24, "more", 3, 8, 1.5);
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "out/results.json"));
    CHECK(json.size() == 6);
    CHECK(json.at("small_name").at("value") == "few");
    CHECK(json.at("kept_small_mb").at("value") == 12.25);  // not the rounded 12.2 that is printed
    CHECK(json.at("kept_small_mb").at("varies") == false);
    CHECK(json.at("24_ms").at("value") == 1.5);
    CHECK(json.at("24_ms").at("varies") == true);
    CHECK(json.at("24_ms").at("unit") == "ms");
    CHECK(json.at("kept_24_mb").at("value") == 3);
}

TEST_CASE("text may stand in a column of numbers, and an empty cell records nothing") {
    const Folder folder;
    Results results(folder / "out");
    const Printed printed;
    Table table(results, {{"moved", "<6"}, {"by", "6.1f", "{}_by"}, {"at", "4", "{}_at"}},
                printed.file());
    table.row("P", "P", "=", 3);
    table.row("S", "S", "", "");
    CHECK(printed.text() ==
          "moved       by    at\n"
          "P            =     3\n"
          "S\n");
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "out/results.json"));
    CHECK(json.size() == 2);
    CHECK(json.at("P_by").at("value") == "=");
}

TEST_CASE("a disturbed row says so, on paper and in what varies") {
    const Folder folder;
    Results results(folder / "out");
    const Printed printed;
    Table table(results, {{"words", "5", "{}_words"}, varying("ms", "6.2f", "{}_ms")},
                printed.file());
    table.measured_row(true, "a", 24, 1.5);
    table.measured_row(false, "b", 48, 2.5);
    CHECK(printed.text() ==
          "words      ms\n"
          "   24    1.50  disturbed\n"
          "   48    2.50\n");
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "out/results.json"));
    CHECK(json.at("a_ms").at("disturbed") == true);
    CHECK_FALSE(json.at("a_words").contains("disturbed"));  // it was counted, not measured
    CHECK_FALSE(json.at("b_ms").contains("disturbed"));
}

TEST_CASE("a row that does not fit its table is refused, and a name without a place for the key") {
    Results results;
    const Printed printed;
    Table table(results, {{"a", "5"}, {"b", "5"}}, printed.file());
    REQUIRE_THROWS_WITH(table.row("x", 1), "table: 1 values in row x, expected 2");
    REQUIRE_THROWS_WITH(Table(results, {{"a", "5", "a_ms"}}, printed.file()),
                        "table: column a is recorded as a_ms, expected a name with {}");
}
