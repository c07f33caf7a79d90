#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/io/limits.hpp"

namespace abh {
// [strict json]
/// The object that a text holds; looked through before memory is taken for its values.
/// @throws std::invalid_argument that says what is wrong: it is not JSON, or no object; a name
///         occurs twice in an object; a limit is passed
nlohmann::json strict_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace abh
