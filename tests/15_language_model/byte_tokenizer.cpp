// Once: texts become the library's ids, and pieces become text again.
#include "chapters/15_language_model/published/byte_tokenizer.hpp"

#include <nlohmann/json.hpp>
#include <numeric>

#include "lib/io/files.hpp"
#include "lib/io/text.hpp"
#include "lib/tensor.hpp"
#include "tests/support.hpp"

using namespace abh;
using nlohmann::json;
using namespace std::string_literals;

namespace {

const std::filesystem::path tokenizer_folder = std::filesystem::path(ABH_GOLDEN) / "tokenizer";

json golden_json() {
    return json::parse(read_file(tokenizer_folder / "tokenizer.json"));
}

/// A piece for each byte, whose id is the byte, and pieces for these merges.
BytePieces bytes_and(const std::vector<std::pair<std::string, std::string>>& merges) {
    BytePieces all;
    for (int byte = 0; byte < 256; ++byte) all.pieces.emplace_back(1, static_cast<char>(byte));
    const auto id_of = [&](const std::string& piece) {
        return static_cast<std::int32_t>(std::ranges::find(all.pieces, piece) - all.pieces.begin());
    };
    for (const auto& [left, right] : merges) {
        if (id_of(left + right) == std::ssize(all.pieces)) all.pieces.push_back(left + right);
        all.merges.push_back({id_of(left), id_of(right), id_of(left + right)});
    }
    return all;
}

std::vector<std::string> cut(const ByteTokenizer& tokenizer, std::string_view text) {
    std::vector<std::string> pieces;
    for (const std::int32_t id : tokenizer.encode(text)) pieces.push_back(tokenizer.piece(id));
    return pieces;
}

using Pieces = std::vector<std::string>;

}  // namespace

TEST_CASE("ids and parts of hostile texts are the library's, with special pieces and without") {
    const ByteTokenizer tokenizer(load_tokenizer_json(tokenizer_folder / "tokenizer.json"));
    const json expected = json::parse(read_file(tokenizer_folder / "expected.json"));
    for (const json& one : expected["cases"]) {
        const auto text = one["text"].get<std::string>();
        CAPTURE(text);
        CHECK(tokenizer.encode(text) == one["ids"].get<std::vector<std::int32_t>>());
        CHECK(tokenizer.encode(text, false) == one["ordinary"].get<std::vector<std::int32_t>>());
        std::vector<std::size_t> parts;
        for (const std::string_view part : cut_text(text)) parts.push_back(part.size());
        CHECK(parts == one["parts"].get<std::vector<std::size_t>>());
    }
    CHECK(expected["cases"].size() == 30);
    CHECK(tokenizer.piece(tokenizer.special("<|im_end|>\n")) == "<|im_end|>\n");
}

TEST_CASE("the merge that comes first in the list is done first, and of equal ones the leftmost") {
    CHECK(cut(ByteTokenizer(bytes_and({{"b", "c"}, {"a", "b"}})), "abc") == Pieces{"a", "bc"});
    CHECK(cut(ByteTokenizer(bytes_and({{"a", "b"}, {"b", "c"}})), "abc") == Pieces{"ab", "c"});
    CHECK(cut(ByteTokenizer(bytes_and({{"a", "a"}})), "aaa") == Pieces{"aa", "a"});
    // what was considered before a neighbor was merged no longer holds
    CHECK(cut(ByteTokenizer(bytes_and({{"a", "b"}, {"b", "c"}, {"c", "d"}})), "abcd") ==
          Pieces{"ab", "cd"});
    const ByteTokenizer three(bytes_and({{"b", "c"}, {"a", "bc"}, {"abc", "abc"}}));
    std::vector<MergeStep> steps;
    CHECK(three.encode_part("abcabc", &steps) == std::vector<std::int32_t>{258});
    std::vector<std::vector<std::size_t>> found;
    for (const auto& [merge, begin, middle, end] : steps)
        found.push_back({static_cast<std::size_t>(merge), begin, middle, end});
    CHECK(found == std::vector<std::vector<std::size_t>>{
                       {0, 1, 2, 3}, {0, 4, 5, 6}, {1, 0, 1, 3}, {1, 3, 4, 6}, {2, 0, 3, 6}});
}

TEST_CASE("a word of 300,000 letters is cut like a short one") {
    // with a list that is searched anew for each merge, this takes more than 10^10 steps
    std::vector<std::pair<std::string, std::string>> doubling;
    for (std::size_t n = 1; n < 64; n *= 2)
        doubling.emplace_back(std::string(n, 'a'), std::string(n, 'a'));
    const Pieces pieces = cut(ByteTokenizer(bytes_and(doubling)), std::string(300'000, 'a'));
    CHECK(pieces.size() == 300'000 / 64 + 1);  // 32 letters are left
    CHECK(pieces.back().size() == 32);
}

TEST_CASE("a text comes back from its pieces, and a byte without a piece is left out") {
    const std::string text = "  I have 12 好朋友, it's\r\n\tcafe\u0301 \U0001F469\u200D \0 x  "s;
    BytePieces pieces = bytes_and({{" ", "h"}, {"\xE5", "\xA5"}, {"'", "s"}, {"1", "2"}});
    const auto joined = [&] {
        const Pieces all = cut(ByteTokenizer(pieces), text);
        return std::accumulate(all.begin(), all.end(), std::string());
    };
    CHECK(joined() == text);
    pieces.pieces['x'] = "no byte";
    std::string without = text;
    std::erase(without, 'x');
    CHECK(joined() == without);
}

TEST_CASE("pieces that do not fit together are refused") {
    const auto read = [](const Pieces& pieces, const Pieces& merges,
                         std::vector<std::int32_t> special = {}) {
        return ByteTokenizer(byte_pieces(pieces, special, merges));
    };
    CHECK(read({"a", "Ġ", "Ġa"}, {"Ġ a"}).piece(2) == " a");
    CHECK(read({"a", "Ġ"}, {}, {1}).piece(1) == "Ġ");  // a special piece is written as it is
    for (const char* piece : {"我", " ", "a\xFF"})
        CHECK_THROWS_WITH(read({piece}, {}), Contains("has a letter that stands for no byte"));
    CHECK_THROWS_WITH(read({"a", "b", "a"}, {}), Contains("pieces 0 and 2 are the same"));
    for (const char* merge : {"a c", "c a", "a b", "ab", "", "a  b", "a b "})
        CHECK_THROWS_WITH(read({"a", "b"}, {merge}), Contains("which does not exist"));
    CHECK_THROWS_WITH(read({"a", "b", "ab"}, {"a b", "a b"}), Contains("merges 0 and 1 are of"));
    CHECK_THROWS_WITH(read({"a"}, {}, {1}), Contains("id 1, expected one from 0 to 0"));
    CHECK_THROWS_WITH(read({"a", ""}, {}, {1}), Contains("special piece 1 is empty"));
    BytePieces wrong = bytes_and({{"a", "b"}});
    wrong.merges[0].joined = 'x';
    CHECK_THROWS_WITH(ByteTokenizer(wrong), Contains("which have other bytes"));
    const ByteTokenizer tokenizer(bytes_and({}));
    CHECK_THROWS_WITH(tokenizer.encode("good \xE6\x88"), "text: byte 6 is not UTF-8");
    CHECK_THROWS_WITH(cut_text("\xFF"), "text: byte 1 is not UTF-8");
    CHECK_THROWS_WITH(tokenizer.special("<s>"), Contains("there is no special piece \"<s>\""));
    CHECK_THROWS_WITH(tokenizer.piece(-1), Contains("id -1, expected one from 0 to 255"));
}

TEST_CASE("a tokenizer.json that asks for what is not built is refused by name") {
    json older = golden_json();  // which has merges as texts
    for (json& merge : older["model"]["merges"])
        merge = merge[0].get<std::string>() + ' ' + merge[1].get<std::string>();
    CHECK(parse_tokenizer_json(older.dump()).merges.size() == older["model"]["merges"].size());
    const auto refused = [](const char* place, const json& value, const std::string& why) {
        CAPTURE(place);
        json all = golden_json();
        all[json::json_pointer(place)] = value;
        CHECK_THROWS_WITH(parse_tokenizer_json(all.dump()), Contains(why));
    };
    refused("/model/type", "Unigram", "/model/type is \"Unigram\", expected \"BPE\"");
    refused("/model", 7, "/model/type is null");
    refused("/normalizer", {{"type", "NFC"}}, R"(/normalizer is {"type":"NFC"}, expected null)");
    refused("/pre_tokenizer", nullptr, "/pre_tokenizer is null, expected {");
    refused("/pre_tokenizer/pretokenizers/0/individual_digits", false, "/pre_tokenizer is {");
    refused("/post_processor", {{"type", "TemplateProcessing"}}, "/post_processor/type is");
    refused("/decoder/type", "Metaspace", "/decoder/type is \"Metaspace\"");
    refused("/model/dropout", 0.1, "/model/dropout is 0.1, expected null");
    refused("/model/unk_token", "a", "/model/unk_token");
    refused("/model/continuing_subword_prefix", "##", "/model/continuing_subword_prefix");
    refused("/model/end_of_word_suffix", "</w>", "/model/end_of_word_suffix");
    refused("/model/byte_fallback", true, "/model/byte_fallback");
    refused("/model/ignore_merges", true, "/model/ignore_merges");
    refused("/model/vocab", 7, "/model/vocab is no object");
    refused("/model/vocab/a", 70'000, "\"a\" has id 70000, expected each id below");
    refused("/model/vocab/a", -1, "\"a\" has id -1");
    refused("/model/vocab/a", 1, "expected each id below");
    refused("/model/merges/0", 7, "a merge is 7, expected two pieces");
    refused("/model/merges/0", {"a"}, "a merge is [\"a\"]");
    refused("/model/merges/0", {"a", "\u001b"}, "needs a piece \"\\x1B\"");
    refused("/added_tokens/0/lstrip", true, "/lstrip is true, expected null");
    refused("/added_tokens/0/normalized", true, "/normalized is true");
    refused("/added_tokens/0/content", 7, "expected content and id");
    refused("/added_tokens/0", "a", "an added token is \"a\"");
    refused("/added_tokens/0/id", 1, "\"<|endoftext|>\" has the ids 0 and 1");
    CHECK_THROWS_WITH(load_tokenizer_json(tokenizer_folder / "none.json"), Contains("none.json"));
    CHECK_THROWS_WITH(load_tokenizer_json(tokenizer_folder / "expected.json"),
                      Contains("expected.json: /pre_tokenizer is null"));
}

TEST_CASE("a character is shown when it is whole, and what could harm a terminal is spelled out") {
    const std::string text = "é 我\U0001F469\n\t.";
    for (std::size_t step = 1; step <= text.size(); ++step) {
        TextStream stream;
        std::string shown;
        for (std::size_t at = 0; at < text.size(); at += step) {
            const std::string more = stream.add(text.substr(at, step));
            CHECK(find_bad_utf8(more) == more.npos);
            shown += more;
        }
        CHECK(shown + stream.end() == text);
    }
    TextStream stream;
    CHECK(stream.add("a\x1B[2J\r\x7F\u202E") == "a\\x1B[2J\\x0D\\x7F\\xE2\\x80\\xAE");
    CHECK(stream.add("\xE6\x88").empty());
    CHECK(stream.add("x\x80\xC0") == "\\xE6\\x88x\\x80\\xC0");
    CHECK(stream.add("\xE0\x80\xED\xA0\xF4\x90") == "\\xE0\\x80\\xED\\xA0\\xF4\\x90");
    CHECK(stream.add("\xF0\x9F").empty());
    CHECK(stream.end() == "\\xF0\\x9F");
    CHECK(stream.end().empty());
}
