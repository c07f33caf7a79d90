#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "lib/io/safetensors.hpp"

namespace abh {
// [checked file]
/// Writes a safetensors file whose notes hold a checksum of everything else in it.
/// The file appears whole or not at all.
/// @throws std::runtime_error naming the path and the reason, such as a full disk
void save_checked(const std::filesystem::path& path, TensorFile content);
/// Reads what `save_checked` wrote.
/// @throws std::runtime_error naming the file if it is damaged or of another kind
TensorFile load_checked(const std::filesystem::path& path);

/// CRC-32, by zlib, in hexadecimal digits: detects damage, not tampering.
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
