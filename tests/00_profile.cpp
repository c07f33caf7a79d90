// Once: the profile of `--profile`.
#include <nlohmann/json.hpp>
#include <thread>

#include "lib/io/files.hpp"
#include "lib/program/profile.hpp"
#include "lib/way.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

void rest(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace

TEST_CASE("a profile has a line for each name, with calls and own time") {
    { const Timed before("not measured: the profile has not begun"); }
    start_profile();
    for (int i = 0; i < 3; ++i) {
        const Timed outer("outer");
        rest(1);
        const Timed inner("inner");
        rest(10);
    }
    const std::string table = profile_table();
    REQUIRE_THAT(table, Contains("outer") && Contains("inner") && Contains("(anything else)"));
    REQUIRE_THAT(table, !Contains("not measured"));

    const Folder folder;
    save_trace(folder / "trace.json");
    const auto trace = nlohmann::json::parse(read_file(folder / "trace.json"));
    REQUIRE(trace.at("traceEvents").size() == 6);
    double outer = 0, inner = 0;
    for (const auto& block : trace["traceEvents"]) {
        REQUIRE(block.at("ph") == "X");
        (block.at("name") == "outer" ? outer : inner) += block.at("dur").get<double>();
    }
    REQUIRE(inner >= 30e3);  // microseconds
    REQUIRE(outer >= inner + 3e3);
    // the longest own time first: rest may take longer than it was asked to
    REQUIRE((table.find("inner") < table.find("outer")) == (inner > outer - inner));
    start_profile();  // begins anew
    REQUIRE_THAT(profile_table(), !Contains("outer"));
}

TEST_CASE("only the thread that began a profile is measured") {
    start_profile();
    std::thread([] { const Timed other("of another thread"); }).join();
    REQUIRE_THAT(profile_table(), !Contains("of another thread"));
}
