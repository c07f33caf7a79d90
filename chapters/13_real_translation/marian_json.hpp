#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "chapters/13_real_translation/text.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [refuse]
/// @throws std::runtime_error in one line, safe to print whatever the file holds
template <class... Args>
[[noreturn]] void refuse(const std::filesystem::path& path, fmt::format_string<Args...> why,
                         Args&&... args) {
    throw std::runtime_error(
        fmt::format("{}: not usable as a model of Marian: {}", path.string(),
                    printable(fmt::format(why, std::forward<Args>(args)...), 300)));
}
// [object]
/// Whether a value is a whole number from 0 to n - 1.
inline bool is_below(const nlohmann::json& value, Index n) {
    return value.is_number_unsigned() && std::cmp_less(value.get<std::uint64_t>(), n);
}
/// The JSON object in a file.
/// @throws std::runtime_error if it is none, is larger than 64 MiB, nested deeper than 8, or has a
///         name twice
nlohmann::json read_object(const std::filesystem::path& path);

}  // namespace abh
