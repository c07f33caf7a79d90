// Once: which words of a line are read, and which are asked for.
#include "chapters/15_language_model/lines.hpp"

#include "tests/support.hpp"

using namespace abh;

TEST_CASE("the loss on a translation begins with the word after the arrow") {
    const Vocabulary words({pad_word, arrow_word, end_word, "a", "b"});
    const std::vector<SentencePair> pairs{{{"a", "a"}, {"b"}}, {{"a"}, {"b", "a"}}};
    const std::vector<Index> numbers{1, 0};
    const LineBatch some = make_line_batch(words, pairs, numbers, Counted::translation),
                    all = make_line_batch(words, pairs, numbers, Counted::all);
    CHECK(same_bits(some.read.ids, Ids({2, 4}, {3, 1, 4, 3, 3, 3, 1, 4})));
    CHECK(same_bits(some.targets.reshape({2, 4}), Ids({2, 4}, {0, 4, 3, 2, 0, 0, 4, 2})));
    CHECK(same_bits(all.targets.reshape({2, 4}), Ids({2, 4}, {1, 4, 3, 2, 3, 1, 4, 2})));
    CHECK(some.n_targets == 5);
    CHECK(all.n_targets == 8);
}

TEST_CASE("a line has no row for its end symbol, nor for pads") {
    const Vocabulary words({pad_word, arrow_word, end_word, "a", "b"});
    const std::vector<SentencePair> pairs{{{"a"}, {"b"}}, {{"a", "a"}, {"b", "b"}}};
    const std::vector<Index> numbers{0, 1};
    const LineBatch batch = make_line_batch(words, pairs, numbers, Counted::translation);
    CHECK(batch.read.count(0) == 3);
    CHECK(same_bits(batch.targets, Ids({1, 8}, {0, 4, 2, 0, 0, 4, 4, 2})));
}
