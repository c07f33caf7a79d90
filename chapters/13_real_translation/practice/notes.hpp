#pragma once

#include <map>
#include <string>
#include <string_view>

namespace abh {
// [checksum]
/// CRC-32, by zlib, in hexadecimal digits: tells whether two texts are the same.
std::string checksum(std::string_view bytes);
// [notes]
/// What a file has besides tensors: named texts, such as what else a translation needs.
using Notes = std::map<std::string, std::string>;
/// @throws std::invalid_argument if there is no note of that name
const std::string& note(const Notes& notes, const std::string& name);
/// Bytes as hexadecimal digits, for notes, which are text.
std::string to_hex(std::string_view bytes);
/// @throws std::invalid_argument if `digits` are not what `to_hex` wrote
std::string from_hex(std::string_view digits);

}  // namespace abh
