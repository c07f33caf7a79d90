// Once: slips that are planted in pairs.
#include "chapters/13_real_translation/scores/slips.hpp"
#include "tests/support.hpp"

using namespace abh;

using Marks = std::set<std::string>;

TEST_CASE("marks are what a sentence bears on its surface") {
    CHECK(marks(Mark::question, "Who?") == Marks{"?"});
    CHECK(marks(Mark::question, "Nobody knows who.").empty());
    CHECK(marks(Mark::number, "I am 30, and Tom is 5.") == Marks{"30", "5"});
    CHECK(marks(Mark::number, "I am thirty.").empty());

    for (const char* sentence : {"No!", "I don't know.", "I don’t know.", "She cannot swim.",
                                 "Nobody came.", "Never say never."})
        CHECK(marks(Mark::negation, sentence) == Marks{"not"});
    for (const char* sentence : {"I know.", "Note the knot.", "Want some?", "Nora came."})
        CHECK(marks(Mark::negation, sentence).empty());
}

TEST_CASE("a name has a capital letter that its place does not ask for") {
    CHECK(marks(Mark::name, "We met Tom in Boston.") == Marks{"Boston", "Tom"});
    CHECK(marks(Mark::name, "The man and I think that I'm right.").empty());
    CHECK(marks(Mark::name, "Tom left.").empty());  // the place asks for it
    CHECK(marks(Mark::name, "Stop. He said: \"Go. Where to? Out!\"").empty());
    CHECK(marks(Mark::name, "He met Émile.") == Marks{"Émile"});
}

TEST_CASE("a mark is kept if all of its kind are there") {
    CHECK(kept(Mark::number, "3 of 5", "5 of 3"));
    CHECK_FALSE(kept(Mark::number, "3 of 5", "3 of 6"));
    CHECK(kept(Mark::number, "none", "3 of 6"));
    CHECK(kept(Mark::negation, "I do not know.", "I don't know."));
    CHECK_FALSE(kept(Mark::negation, "I do not know.", "I know."));
    CHECK(kept(Mark::name, "I know Tom.", "Tom knows me."));
    CHECK_FALSE(kept(Mark::name, "I know Tom.", "I know Tim."));
}

TEST_CASE("a sentence repeats itself with a word twice on end or three words in one order") {
    CHECK(repeats("It is a a dog."));
    CHECK(repeats("A man is a man is a dog."));
    CHECK(repeats("The the dog"));
    CHECK_FALSE(repeats("A man is a dog, and a dog is a man."));
    CHECK_FALSE(repeats(""));
}

TEST_CASE("signs count as words") {
    CHECK(count_words("I don't know, Tom.") == 6);
    CHECK(count_words("") == 0);
}
