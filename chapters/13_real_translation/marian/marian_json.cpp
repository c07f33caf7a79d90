#include "chapters/13_real_translation/marian/marian_json.hpp"

#include <set>

#include "lib/io/file_kind.hpp"
#include "lib/io/files.hpp"

namespace abh {
// [object]
nlohmann::json read_object(const std::filesystem::path& path) {
    using nlohmann::json;
    constexpr std::size_t most_bytes = std::size_t{1} << 26;
    constexpr int deepest = 8;
    std::vector<std::set<std::string>> names(deepest + 2);  // of the objects that are open
    const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
        const auto level = static_cast<std::size_t>(depth);
        if (depth > deepest) refuse(path, "nested deeper than {}", deepest);
        if (event == json::parse_event_t::object_start) names[level + 1].clear();
        if (event == json::parse_event_t::key &&
            !names[level].insert(parsed.get<std::string>()).second)
            refuse(path, "{} occurs twice", parsed.get<std::string>());
        return true;
    };
    const std::string text = read_file(path, most_bytes);
    if (const std::string kind = foreign_kind(text); !kind.empty()) refuse(path, "{}", kind);
    json values;
    try {
        values = json::parse(text, watch);
    } catch (const json::exception& error) {
        refuse(path, "not JSON: {}", error.what());
    }
    if (!values.is_object()) refuse(path, "{}, expected an object", values.type_name());
    return values;
}

}  // namespace abh
