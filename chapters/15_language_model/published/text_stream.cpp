#include <algorithm>
#include <utility>

#include "chapters/15_language_model/published/byte_tokenizer.hpp"
#include "lib/io/text.hpp"

namespace abh {
namespace {
// [begins a character]
/// Whether bytes that are no character yet become one if others follow.
bool begins_character(std::string_view bytes) {
    for (const char next : {'\x80', '\xBF'}) {  // the least and the largest that may follow
        const std::string longer = std::string(bytes) + std::string(3, next);
        if (first_character(longer).bytes > bytes.size()) return true;
    }
    return false;
}

}  // namespace
// [stream]
std::string TextStream::add(std::string_view bytes) {
    held_ += bytes;
    std::string_view rest = held_;
    std::string shown;
    while (!rest.empty()) {
        const Character c = first_character(rest);
        if (c.bytes == 0 && begins_character(rest)) break;
        const std::string_view whole = rest.substr(0, std::max<std::size_t>(c.bytes, 1));
        shown += c.code == '\n' || c.code == '\t' ? std::string(whole) : printable(whole);
        rest.remove_prefix(whole.size());
    }
    held_ = std::string(rest);
    return shown;
}

std::string TextStream::end() {
    return printable(std::exchange(held_, ""));
}

}  // namespace abh
