// What the pages' live parts call, as a native program: the same files, with the book's libraries
// instead of docs/live/module/stand_in.cpp. Each line of standard input is a call,
//     {"name": "live_attention", "given": [8, 8, 4, 2, ...]}
// and each line of standard output what it returned, {"out": ...} or {"error": "..."}.
#include <dlfcn.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "docs/live/module/calls.hpp"
#include "lib/way.hpp"

using nlohmann::json;

namespace {

json answer(const json& call) {
    const std::string name = call.at("name");
    const json& given = call.at("given");
    void* const f = dlsym(RTLD_DEFAULT, name.c_str());
    abh::require(f != nullptr, "there is no {}", name);
    if (sizeof(abh::Real) == 8) {  // layers and sampling: numbers
        live::numbers = given.get<std::vector<double>>();
        if (reinterpret_cast<int (*)()>(f)()) return {{"out", live::numbers}};
    } else if (name == "live_step") {
        const double loss = reinterpret_cast<double (*)(double, int)>(f)(given[0], given[1]);
        if (!std::isnan(loss)) return {{"out", loss}};
    } else {
        const std::string text = given[0];
        const char* found = reinterpret_cast<const char* (*)(const char*)>(f)(text.c_str());
        if (found) return {{"out", found}};
    }
    return {{"error", live::error}};
}

}  // namespace

int main() {
    abh::set_way(abh::Way::plain);
    for (std::string line; std::getline(std::cin, line);)
        std::cout << answer(json::parse(line)).dump() << std::endl;
}
