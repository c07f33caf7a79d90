// Once: text: its characters, its normal form, its lines.
#include "lib/io/unicode.hpp"

#include <stdexcept>

#include "tests/catch.hpp"

using namespace abh;

TEST_CASE("UTF-8 is what RFC 3629 says: no overlong form, no surrogate, nothing above U+10FFFF") {
    for (const char* text :
         {"", "abc", "我有一个好朋友", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
          "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "\xEF\xBF\xBF"})
        CHECK(is_utf8(text));
    CHECK(is_utf8(std::string_view("a\0b", 3)));
    const std::pair<std::string, std::size_t> bad[] = {{"ab\x80", 2},
                                                       {"\xC0\xAF", 0},
                                                       {"\xC1\xBF", 0},
                                                       {"a\xE0\x9F\xBF", 1},
                                                       {"\xED\xA0\x80", 0},
                                                       {"\xF0\x8F\xBF\xBF", 0},
                                                       {"\xF4\x90\x80\x80", 0},
                                                       {"\xF8\x88\x80\x80", 0},
                                                       {"\xFF", 0},
                                                       {"我\xE6\x88", 3},
                                                       {"x\xE6", 1},
                                                       {"\xC3(", 0},
                                                       {"\xF0\x9F\x98 ", 0}};
    for (const auto& [text, position] : bad) {
        CHECK(find_bad_utf8(text) == position);
        CHECK_THROWS_AS(code_points(text), std::invalid_argument);
        CHECK_THROWS_AS(nfc(text), std::invalid_argument);
    }
}

TEST_CASE("every character of Unicode goes to UTF-8 and back") {
    std::u32string all;
    for (char32_t c = 0; c <= 0x10FFFF; ++c)
        if (c < 0xD800 || c > 0xDFFF) all += c;
    CHECK(code_points(utf8(all)) == all);
    for (const char32_t none : {char32_t{0xD800}, char32_t{0xDFFF}, char32_t{0x110000}})
        CHECK_THROWS_AS(utf8({&none, 1}), std::invalid_argument);
}

TEST_CASE("NFC gives one spelling to what can be written in several ways") {
    CHECK(nfc("e\u0301") == "\u00E9");               // a letter and its accent
    CHECK(nfc("\u212B") == "\u00C5");                // the unit of length is a letter
    CHECK(nfc("\u1112\u1161\u11AB") == "\uD55C");    // a syllable of Hangul
    CHECK(nfc("q\u0307\u0323") == "q\u0323\u0307");  // marks in their order
    CHECK(nfc("\uFB01") == "\uFB01");                // a ligature is another text, and stays
    CHECK(nfc("Ａ，。我") == "Ａ，。我");
    CHECK(nfc("") == "");
    for (const char* text : {"e\u0301\u0323x", "\u0344", "\u1E9B\u0323"})
        CHECK(nfc(nfc(text)) == nfc(text));
}

TEST_CASE("a letter with a thousand marks is an error, not an hour's work") {
    std::string marks = "a";
    for (int i = 0; i < 1000; ++i) marks += i % 2 ? "\u0301" : "\u0323";
    CHECK(is_utf8(nfc(marks)));
    CHECK_THROWS_WITH(nfc(marks + "\u0301"), Contains("1000 marks"));
}

TEST_CASE("a tidy sentence has single spaces, none at its ends, and no control character") {
    CHECK(tidy("  a \t b\r\n\u2028c\x01 ") == "a b c");
    CHECK(tidy(std::string_view("a\0b", 3)) == "a b");
    CHECK(tidy(" \u3000\t") == "");
    CHECK(tidy("e\u0301") == "\u00E9");
}

TEST_CASE("what looks like a space separates") {
    for (const std::string space : {"\u00A0", "\u1680", "\u2003", "\u202F", "\u205F", "\u3000",
                                    "\u2800", "\u3164", "\uFFA0"}) {
        CAPTURE(code_points(space)[0]);
        CHECK(tidy(space + "a" + space + " " + space + "b" + space) == "a b");
    }
}

TEST_CASE("what nobody sees makes no other word") {
    for (const std::string mark :
         {"\u00AD", "\u034F", "\u061C",     "\u115F",     "\u1160",     "\u17B4",    "\u180B",
          "\u180E", "\u200B", "\u200E",     "\u200F",     "\u202A",     "\u202E",    "\u2060",
          "\u2063", "\u2066", "\u2069",     "\u206A",     "\uFE00",     "\uFE0F",    "\uFEFF",
          "\uFFF9", "\uFFFB", "\U0001D173", "\U000E0001", "\U000E0067", "\U000E0100"}) {
        CAPTURE(code_points(mark)[0]);
        CHECK(tidy(mark + "a" + mark + "b " + mark + " c" + mark) == "ab c");
        CHECK(tidy("e" + mark + "\u0301") == "\u00E9");  // the letter meets its accent
    }
}

TEST_CASE("joiners stay, because they change what one sees") {
    for (const char* text : {"می\u200Cخواهم", "क्\u200Dष", "👩\u200D🚀"}) CHECK(tidy(text) == text);
}

TEST_CASE("one line holds all that one sees, as it was written") {
    CHECK(one_line(" a \t\u3000b\r\nc\u2028d\x01\u202E ") == "a b c d");
    for (const char* text : {"e\u0301", "a\u00ADb", "❤\uFE0F", "a\u200Bb"})
        CHECK(one_line(text) == text);
}

TEST_CASE("lines end with a line feed, or with a carriage return before it") {
    using Lines = std::vector<std::string>;
    CHECK(lines_of("\xEF\xBB\xBF"
                   "a\r\n\nb\rc\nd",
                   "x") == Lines{"a", "", "b\rc", "d"});
    CHECK(lines_of("a\n", "x") == Lines{"a"});
    CHECK(lines_of("", "x").empty());
    CHECK_THROWS_WITH(lines_of("a\nb\xE9 c\n", "x"),
                      Contains("x:2: byte 2 is 0xE9, which is not UTF-8"));
    CHECK_THROWS_WITH(lines_of("a\nbcd\n", "x", {.line_bytes = 2}), "x:2: longer than 2 bytes");
    CHECK_THROWS_WITH(lines_of("a\nb", "x", {.lines = 1}), "x: has more than 1 lines");
}

TEST_CASE("tabs separate the columns of a line, which may be empty") {
    using Columns = std::vector<std::string_view>;
    CHECK(columns_of("a b\tc\td") == Columns{"a b", "c", "d"});
    CHECK(columns_of("\tc\t") == Columns{"", "c", ""});
    CHECK(columns_of("") == Columns{""});
}
