#pragma once

#include <string>
#include <string_view>

namespace abh {
// [kind]
/// What a file is that should be text in UTF-8 and is something else by its first bytes, and how to
/// make such text of it: "a zip archive; unpack it (unzip) and give the file that was in it". Empty
/// if it may be text. Latin-1 and its like show nothing in front, but bytes that are not UTF-8.
/// @param beginning  of the file; 4096 bytes are enough
std::string foreign_kind(std::string_view beginning);

}  // namespace abh
