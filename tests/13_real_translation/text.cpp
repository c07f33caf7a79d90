// Once: text: lower case, and what spellings share.
#include "chapters/13_real_translation/data/text.hpp"

#include <nlohmann/json.hpp>

#include "lib/io/files.hpp"
#include "tests/catch.hpp"

using namespace abh;

TEST_CASE("lower case goes character by character, except at the end of a word") {
    CHECK(lower_case("ÄRGER, Ж Ǆ I 我") == "ärger, ж ǆ i 我");
    CHECK(lower_case("İ") == "i\u0307");
    CHECK(lower_case("ΟΔΟΣ ΣΟΦΟΣ. Σ") == "οδος σοφος. σ");
    const auto golden = nlohmann::json::parse(read_file(ABH_GOLDEN "/scores.json")).at("lower");
    CHECK(golden.size() >= 300);
    for (const auto& [text, lower] : golden.items()) {
        CAPTURE(text);
        CHECK(lower_case(text) == lower.get<std::string>());
    }
}

TEST_CASE("letters tells what spellings of a sentence share") {
    CHECK(letters("Wait! I'm here...") == letters("wait i'm  HERE"));
    CHECK(letters("等等！") == letters("等等。"));
    CHECK(letters("Ja.") != letters("Jä."));
    CHECK(letters("नमस्ते!") == "नमस्ते");  // with its vowel signs, which are marks
    CHECK(letters("?!") == "");
    CHECK(letters("7 × 8") == "78");
    CHECK(letters("ΟΔΟΣ! ΝΑΙ") == letters("οδος ναι"));
    CHECK(letters("İZMİR") == letters("i\u0307zmi\u0307r"));
}
