#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace abh {
// [strict json]
/// What a JSON text of a stranger may hold, at most.
struct JsonLimits {
    std::size_t bytes = std::size_t{1} << 26;
    int depth = 8;                ///< of objects and lists within each other
    std::size_t names = 100'000;  ///< of one object
    std::size_t values = 2'000'000;
};

/// The object that a text holds; looked through before memory is taken for its values.
/// @throws std::invalid_argument that says what is wrong: it is not JSON, or no object; a name
///         occurs twice in an object; a limit is passed
nlohmann::json strict_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace abh
