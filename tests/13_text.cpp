// Once: text: its characters and its normal form.
#include <stdexcept>

#include "chapters/13_real_translation/data/text.hpp"
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

TEST_CASE("lower case goes character by character") {
    CHECK(lower_case("ÄRGER, Σ Ж Ǆ I 我") == "ärger, σ ж ǆ i 我");
}

TEST_CASE("a tidy sentence has single spaces, none at its ends, and no control character") {
    CHECK(tidy("  a \t b\r\n\u3000c\u00A0\u2028d\x01 ") == "a b c d");
    CHECK(tidy(std::string_view("a\0b", 3)) == "a b");
    CHECK(tidy(" \u3000\t") == "");
    CHECK(tidy("e\u0301") == "\u00E9");
    CHECK(tidy("a\u200Db") == "a\u200Db");  // a joiner, which some scripts need
}

TEST_CASE("a tidy sentence has no mark that turns the direction of writing") {
    for (const std::string mark :
         {"\u061C", "\u200E", "\u200F", "\u202A", "\u202E", "\u2066", "\u2069"}) {
        CHECK(tidy("a" + mark + "b " + mark + " c") == "ab c");
        CHECK(tidy("e" + mark + "\u0301") == "\u00E9");  // the letter meets its accent
    }
}

TEST_CASE("letters tells what spellings of a sentence share") {
    CHECK(letters("Wait! I'm here...") == letters("wait i'm  HERE"));
    CHECK(letters("等等！") == letters("等等。"));
    CHECK(letters("Ja.") != letters("Jä."));
    CHECK(letters("नमस्ते!") == "नमस्ते");  // with its vowel signs, which are marks
    CHECK(letters("?!") == "");
    CHECK(letters("7 × 8") == "78");
}
