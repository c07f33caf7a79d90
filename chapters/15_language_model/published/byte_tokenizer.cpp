#include "chapters/15_language_model/published/byte_tokenizer.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "lib/io/text.hpp"
#include "lib/tensor.hpp"

namespace abh {
namespace {
// [letters]
/// The letter of each byte in files: the byte's own if Latin-1 prints it, or else the next one from
/// U+0100 on.
std::array<char32_t, 256> byte_letters() {
    std::array<char32_t, 256> letters;
    for (char32_t byte = 0, next = 256; byte < 256; ++byte) {
        const bool printed = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
        letters[byte] = printed ? byte : next++;
    }
    return letters;
}

std::string bytes_of(std::string_view letters) {
    static const std::array<char32_t, 256> all = byte_letters();
    std::string bytes;
    for (std::string_view rest = letters; !rest.empty();) {
        const Character c = first_character(rest);
        const auto byte = std::ranges::find(all, c.code);
        if (c.bytes == 0 || byte == all.end())
            throw std::invalid_argument(
                fmt::format("tokenizer: piece \"{}\" has a letter that stands for no byte",
                            printable(letters, 60)));
        bytes += static_cast<char>(byte - all.begin());
        rest.remove_prefix(c.bytes);
    }
    return bytes;
}

}  // namespace
// [read pieces]
BytePieces byte_pieces(const std::vector<std::string>& pieces,
                       const std::vector<std::int32_t>& special,
                       const std::vector<std::string>& merges) {
    BytePieces found{pieces, special, {}};
    const std::unordered_set<std::int32_t> as_they_are(special.begin(), special.end());
    std::unordered_map<std::string, std::int32_t> ids;
    for (std::int32_t i = 0; const std::string& piece : pieces) {
        const auto [first, is_new] = ids.emplace(piece, i);
        require(is_new, "tokenizer: pieces {} and {} are the same", first->second, i);
        if (!as_they_are.contains(i++)) found.pieces[ids.size() - 1] = bytes_of(piece);
    }
    for (const std::string& merge : merges) {
        const auto id_of = [&](const std::string& piece) {
            if (const auto id = ids.find(piece); id != ids.end()) return id->second;
            throw std::invalid_argument(
                fmt::format("tokenizer: merge \"{}\" needs a piece \"{}\", which does not exist",
                            printable(merge, 60), printable(piece, 60)));
        };
        const std::size_t space = std::min(merge.find(' '), merge.size());
        const std::string left = merge.substr(0, space), right = merge.substr(space).erase(0, 1);
        found.merges.push_back({id_of(left), id_of(right), id_of(left + right)});
    }
    return found;
}
// [kinds]
namespace {

enum class Kind { letter, number, space, other };

/// By Unicode's categories L and N and its property White_Space.
Kind kind_of(char32_t code) {
    if ((code >= '\t' && code <= '\r') || code == 0x85) return Kind::space;
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return Kind::letter;
    if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return Kind::number;
    if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP) return Kind::space;
    return Kind::other;
}

/// The characters of one kind that a text begins with.
struct Run {
    Kind kind = Kind::space;
    std::size_t bytes = 0, last = 0;  ///< of all of them, and of the last one
};

Run first_run(std::string_view text) {
    Run run;
    while (run.bytes < text.size()) {
        const Character c = first_character(text.substr(run.bytes));
        const Kind kind = kind_of(c.code);
        if (run.bytes > 0 && (kind != run.kind || kind == Kind::number)) break;
        run = {kind, run.bytes + c.bytes, c.bytes};
    }
    return run;
}
// [first part]
/// How many bytes the first part of a text takes.
std::size_t first_part(std::string_view text) {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
        if (text.starts_with(ending)) return ending.size();
    const Run run = first_run(text);
    if (run.kind != Kind::space || run.bytes == text.size()) return run.bytes;
    const Run next = first_run(text.substr(run.bytes));
    if (next.kind == Kind::number) return run.bytes;
    // the last space belongs to the word behind it; other white space is a part of its own
    if (run.bytes > run.last) return run.bytes - run.last;
    return text[0] == ' ' ? 1 + next.bytes : run.bytes;
}

}  // namespace
// [cut text]
static void require_utf8(std::string_view text) {
    const std::size_t bad = find_bad_utf8(text);
    require(bad == text.npos, "text: byte {} is not UTF-8", bad + 1);
}

std::vector<std::string_view> cut_text(std::string_view text) {
    require_utf8(text);
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        parts.push_back(text.substr(0, first_part(text)));
        text.remove_prefix(parts.back().size());
    }
    return parts;
}
// [tokenizer]
static std::uint64_t pair(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
}

ByteTokenizer::ByteTokenizer(BytePieces pieces) : pieces_(std::move(pieces)) {
    const std::unordered_set<std::int32_t> special(pieces_.special.begin(), pieces_.special.end());
    for (const std::int32_t id : special) {
        require(!piece(id).empty(), "tokenizer: special piece {} is empty", id);
        if (firsts_.find(piece(id)[0]) == firsts_.npos) firsts_ += piece(id)[0];
    }
    byte_ids_.fill(-1);
    for (std::int32_t id = 0; id < size(); ++id)
        if (piece(id).size() == 1 && !special.contains(id))
            byte_ids_[static_cast<unsigned char>(piece(id)[0])] = id;
    std::ranges::stable_sort(pieces_.special, std::greater(),
                             [&](std::int32_t id) { return piece(id).size(); });
    for (std::int32_t i = 0; i < std::ssize(pieces_.merges); ++i) {
        const auto [left, right, joined] = pieces_.merges[static_cast<std::size_t>(i)];
        require(piece(left) + piece(right) == piece(joined),
                "tokenizer: merge {} makes piece {} of {} and {}, which have other bytes", i,
                joined, left, right);
        const auto [first, is_new] = ranks_.emplace(pair(left, right), i);
        require(is_new, "tokenizer: merges {} and {} are of the same pair, {} and {}",
                first->second, i, left, right);
    }
}

const std::string& ByteTokenizer::piece(std::int32_t id) const {
    require(id >= 0 && id < size(), "tokenizer: id {}, expected one from 0 to {}", id, size() - 1);
    return pieces_.pieces[static_cast<std::size_t>(id)];
}

std::int32_t ByteTokenizer::special(std::string_view name) const {
    const auto found = std::ranges::find(pieces_.special, name, [&](auto id) { return piece(id); });
    require(found != pieces_.special.end(), "tokenizer: there is no special piece \"{}\"",
            printable(name, 60));
    return *found;
}
// [rank]
std::int32_t ByteTokenizer::rank(std::int32_t left, std::int32_t right) const {
    const auto found = ranks_.find(pair(left, right));
    return found == ranks_.end() ? -1 : found->second;
}
// [encode part]
std::vector<std::int32_t> ByteTokenizer::encode_part(std::string_view part,
                                                     std::vector<MergeStep>* steps) const {
    // a piece, and those beside it; one that has become part of the piece before it has id -1
    struct Link {
        std::int32_t id;
        std::size_t begin, before, after;
    };
    std::vector<Link> chain{{-1, 0, 0, 1}};  // the first and the last are ends, of no piece
    for (std::size_t i = 0; i < part.size(); ++i)
        if (const std::int32_t id = byte_ids_[static_cast<unsigned char>(part[i])]; id >= 0)
            chain.push_back({id, i, chain.size() - 1, chain.size() + 1});
    chain.push_back({-1, part.size(), chain.size() - 1, 0});
    const auto rank_at = [&](std::size_t left) {  // of the merge with the next piece
        return rank(chain[left].id, chain[chain[left].after].id);
    };
    using Candidate = std::pair<std::int32_t, std::size_t>;  // a rank, and the link of the left
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    const auto consider = [&](std::size_t left) {
        if (const auto rank = rank_at(left); rank >= 0) candidates.emplace(rank, left);
    };
    for (std::size_t i = 1; i + 1 < chain.size(); ++i) consider(i);
    // [encode part: the idea]
    while (!candidates.empty()) {
        const auto [rank, at] = candidates.top();
        candidates.pop();
        if (rank_at(at) != rank) continue;  // one of the two has been merged with another
        Link &left = chain[at], &right = chain[left.after];
        left.id = pieces_.merges[static_cast<std::size_t>(rank)].joined;
        right.id = -1;
        left.after = right.after;
        chain[left.after].before = at;
        consider(left.before);
        consider(at);
        // [encode part: its result]
        if (steps) steps->push_back({rank, left.begin, right.begin, chain[left.after].begin});
    }
    std::vector<std::int32_t> ids;
    for (std::size_t i = chain[0].after; i + 1 < chain.size(); i = chain[i].after)
        ids.push_back(chain[i].id);
    return ids;
}
// [encode]
std::vector<std::int32_t> ByteTokenizer::encode(std::string_view text, bool with_special) const {
    require_utf8(text);
    std::vector<std::int32_t> ids;
    const auto add_ordinary = [&](std::string_view between) {
        for (const std::string_view part : cut_text(between))
            std::ranges::copy(encode_part(part), std::back_inserter(ids));
    };
    const std::string_view firsts = with_special ? std::string_view(firsts_) : "";
    for (std::size_t at = 0; (at = text.find_first_of(firsts, at)) != text.npos;) {
        const auto found = std::ranges::find_if(pieces_.special, [&](std::int32_t id) {
            return text.substr(at).starts_with(piece(id));  // the longest is the first
        });
        if (found == pieces_.special.end()) {
            ++at;
            continue;
        }
        add_ordinary(text.substr(0, at));
        ids.push_back(*found);
        text.remove_prefix(at + piece(*found).size());
        at = 0;
    }
    add_ordinary(text);
    return ids;
}

}  // namespace abh
