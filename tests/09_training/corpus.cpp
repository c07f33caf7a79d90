// Once: vocabularies, corpora, batches, files of pairs.
#include "chapters/09_training/data/corpus.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "chapters/09_training/data/batches.hpp"
#include "chapters/09_training/data/grammar.hpp"
#include "tests/support.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

std::vector<int> row(const Ids& ids, Index b) {
    return {&ids(b, 0), &ids(b, 0) + ids.dim(1)};
}

std::string replace_all(std::string text, const std::string& part, const std::string& other) {
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += other.size())
        text.replace(at, part.size(), other);
    return text;
}

std::string text(const SentencePair& pair) {
    return fmt::format("{} -> {}", join_words(pair.source), join_words(pair.target));
}

/// The message with which reading this content as a file fails.
std::string failure(const std::string& content, Index max_words = 100) {
    const Folder folder;
    const fs::path file = folder.put("pairs.tsv", content);
    try {
        read_corpus(file, max_words);
    } catch (const std::runtime_error& error) {
        const std::string message = error.what();
        CHECK(message.rfind(file.string(), 0) == 0);  // it begins with the file's name
        CHECK(message.find('\n') == std::string::npos);
        return message.substr(file.string().size());
    }
    return "no error";
}

}  // namespace

TEST_CASE("an epoch's batches hold each pair once, whatever lengths are put together") {
    const Corpus corpus = grammar_corpus();
    Random random(1);
    const Stream of_pairs = random.stream(), of_batches = random.stream();
    const auto size = static_cast<Index>(corpus.train.size());
    for (const bool bucket_by_length : {false, true})
        for (const Index each : {Index{1}, Index{7}, Index{32}, size, size + 5}) {
            CAPTURE(bucket_by_length, each);
            Batches batches(corpus.train, each, bucket_by_length);
            std::vector<Index> before;
            for (int epoch = 0; epoch < 2; ++epoch, random.next_step()) {
                batches.draw(of_pairs, of_batches);
                REQUIRE(batches.count() == (size + each - 1) / each);
                std::vector<Index> all;
                for (Index i = 0; i < batches.count(); ++i) {
                    const std::span<const Index> batch = batches[i];
                    CHECK(static_cast<Index>(batch.size()) <= each);
                    all.insert(all.end(), batch.begin(), batch.end());
                }
                CHECK(all != before);
                before = all;
                std::sort(all.begin(), all.end());
                for (Index i = 0; i < size; ++i) REQUIRE(all[static_cast<std::size_t>(i)] == i);
                REQUIRE(static_cast<Index>(all.size()) == size);
            }
        }
    CHECK_THROWS_WITH(Batches({}, 3, true), "batches: there is no pair");
    CHECK_THROWS_WITH(Batches(corpus.train, 0, true),
                      "batches: 0 pairs per batch, expected at least 1");
}

TEST_CASE("pairs of the same lengths meet others in each epoch") {
    const Corpus corpus = grammar_corpus();
    Random random(3);
    const Stream of_pairs = random.stream(), of_batches = random.stream();
    Batches batches(corpus.train, 32, true);  // all are sorted at once
    const auto with_the_first = [&] {
        batches.draw(of_pairs, of_batches);
        for (Index i = 0; i < batches.count(); ++i) {
            std::vector<Index> batch(batches[i].begin(), batches[i].end());
            std::sort(batch.begin(), batch.end());
            if (batch.front() == 0) return batch;
        }
        return std::vector<Index>{};
    };
    const std::vector<Index> one = with_the_first();
    random.next_step();
    CHECK(with_the_first() != one);
}

TEST_CASE("batches of like lengths need few pads, and come in no order of length") {
    const std::string words = "a b c d e f g h i j k l m n o p q r s t";
    std::vector<SentencePair> pairs;
    for (std::size_t i = 0; i < 4000; ++i)
        pairs.push_back({split_words(words.substr(0, 2 * (1 + i % 20))),
                         split_words(words.substr(0, 2 * (1 + i / 20 % 20)))});
    Random random(2);
    const Stream of_pairs = random.stream(), of_batches = random.stream();
    const auto drawn = [&](bool bucket_by_length) {
        Batches batches(pairs, 16, bucket_by_length);
        batches.draw(of_pairs, of_batches);
        return batches;
    };
    const Batches any = drawn(false), like = drawn(true);
    CHECK(share_of_pads(pairs, any) > 0.4);
    CHECK(share_of_pads(pairs, like) < 0.2);  // a batch has one target length, but source lengths
    const auto length = [&](Index i) { return pairs[static_cast<std::size_t>(i)].target.size(); };
    Index rises = 0;
    for (Index i = 0; i + 1 < like.count(); ++i) {
        rises += length(like[i].front()) < length(like[i + 1].front());
        CHECK(length(like[i].back()) - length(like[i].front()) <= 2);
    }
    CHECK(rises > 2 * like.count() / 5);
    CHECK(rises < 3 * like.count() / 5);
    // by hand: 2 + 3 words and 1 + 1, and two start symbols, in 2 x (2 + 4) places
    const std::vector<SentencePair> two{{{"a", "b"}, {"c", "d", "e"}}, {{"a"}, {"c"}}};
    Batches both(two, 2, false);
    both.draw(of_pairs, of_batches);
    CHECK(share_of_pads(two, both) == Approx(1 - 9.0 / 12));
}

TEST_CASE("a vocabulary numbers words as they come, and names one that it does not know") {
    Vocabulary vocabulary({"P", "ein", "bier"});
    CHECK(vocabulary.add("cola") == 3);
    CHECK(vocabulary.add("ein") == 1);
    CHECK(vocabulary.size() == 4);
    CHECK(vocabulary.id("cola") == 3);
    CHECK(vocabulary.word(2) == "bier");
    CHECK_THROWS_WITH(vocabulary.id("wein"), Contains("unknown word wein"));
    CHECK_THROWS_WITH(vocabulary.word(4), Contains("id 4 is not in a vocabulary of 4 words"));
    CHECK_THROWS_WITH(vocabulary.word(-1), Contains("id -1"));
}

TEST_CASE("words are what white space separates") {
    CHECK(split_words("  a  b\tc \r") == std::vector<std::string>{"a", "b", "c"});
    CHECK(split_words("").empty());
    CHECK(join_words({"a", "b"}) == "a b");
}

TEST_CASE("the toy has the ids of its source") {
    const Corpus corpus = toy_corpus();
    const Batch batch = make_batch(corpus, corpus.train);
    REQUIRE(batch.source.ids.shape() == Shape{3, 8});
    REQUIRE(batch.target_in.ids.shape() == Shape{3, 7});
    CHECK(row(batch.source.ids, 0) == std::vector{1, 2, 3, 4, 5, 6, 7, 0});
    CHECK(row(batch.source.ids, 1) == std::vector{1, 2, 8, 4, 9, 6, 7, 0});
    CHECK(row(batch.source.ids, 2) == std::vector{1, 2, 3, 4, 10, 6, 7, 0});
    CHECK(row(batch.target_in.ids, 0) == std::vector{9, 1, 2, 3, 4, 5, 11});
    CHECK(row(batch.target_in.ids, 1) == std::vector{9, 1, 2, 6, 7, 5, 11});
    CHECK(row(batch.target_in.ids, 2) == std::vector{9, 1, 2, 3, 8, 5, 11});
    CHECK(row(batch.target_out, 0) == std::vector{1, 2, 3, 4, 5, 11, 10});
    CHECK(row(batch.target_out, 1) == std::vector{1, 2, 6, 7, 5, 11, 10});
    CHECK(row(batch.target_out, 2) == std::vector{1, 2, 3, 8, 5, 11, 10});
    const Batch unseen = make_batch(corpus, corpus.held_out);
    CHECK(row(unseen.source.ids, 0) == std::vector{1, 2, 3, 4, 9, 6, 7, 0});
    CHECK(corpus.source.size() == 11);
    CHECK(corpus.target.size() == 12);
}

TEST_CASE("the notebook prints the three tensors of its source") {
    const Corpus corpus = notebook_corpus();
    const Batch batch = make_batch(corpus, corpus.train);
    CHECK(corpus.source.size() == 6);
    CHECK(corpus.target.size() == 9);
    CHECK(tensor_text(batch.source.ids) ==
          "tensor([[1, 2, 3, 4, 0],\n"
          "        [1, 2, 3, 5, 0]])");
    CHECK(tensor_text(batch.target_in.ids) ==
          "tensor([[6, 1, 2, 3, 4, 8],\n"
          "        [6, 1, 2, 3, 5, 8]])");
    CHECK(tensor_text(batch.target_out) ==
          "tensor([[1, 2, 3, 4, 8, 7],\n"
          "        [1, 2, 3, 5, 8, 7]])");
}

TEST_CASE("whole numbers print as PyTorch prints them") {
    CHECK(tensor_text(Ids({3}, {9, 1, 11})) == "tensor([ 9,  1, 11])");
    CHECK(tensor_text(Ids({1, 2}, {9, -1})) == "tensor([[ 9, -1]])");
    CHECK(tensor_text(Ids({2, 1}, {9, 1})) == "tensor([[9],\n        [1]])");
    CHECK(tensor_text(Ids({0})) == "tensor([])");
    CHECK_THROWS_WITH(tensor_text(Ids({1, 1, 1})), Contains("[1, 1, 1]"));
}

TEST_CASE("a batch is padded to its longest sentence, and the target is shifted by one") {
    Corpus corpus = empty_corpus();
    corpus.train = {{split_words("a b c"), split_words("x")},
                    {split_words("b"), split_words("y x y")}};
    for (const SentencePair& pair : corpus.train) add_words(corpus, pair);
    const Batch batch = make_batch(corpus, corpus.train);
    CHECK(row(batch.source.ids, 0) == std::vector{1, 2, 3});
    CHECK(row(batch.source.ids, 1) == std::vector{2, 0, 0});
    CHECK(row(batch.target_in.ids, 0) == std::vector{1, 3, 0, 0});  // S x P P
    CHECK(row(batch.target_out, 0) == std::vector{3, 2, 0, 0});     // x E P P
    CHECK(row(batch.target_in.ids, 1) == std::vector{1, 4, 3, 4});
    CHECK(row(batch.target_out, 1) == std::vector{4, 3, 4, 2});
}

TEST_CASE("a batch is packed, counted, and in one block of memory") {
    const Ids source({2, 3}, {1, 2, 3, 2, 0, 0}), target_in({2, 2}, {1, 3, 1, 0}),
        target_out({2, 2}, {3, 2, 2, 0});
    const Batch batch = make_batch(source, target_in, target_out);
    CHECK(same_bits(batch.source.ids, source));
    CHECK(same_bits(batch.source.packing.offsets, Ids({3}, {0, 3, 4})));
    CHECK(batch.source.packing.length == 3);
    CHECK(same_bits(batch.target_in.ids, target_in));
    CHECK(same_bits(batch.target_in.packing.offsets, Ids({3}, {0, 2, 3})));
    CHECK(same_bits(batch.target_out, target_out));
    CHECK(same_bits(batch.targets, Ids({1, 3}, {3, 2, 2})));
    CHECK(batch.n_targets == 3);
    const std::array all{batch.source.ids, batch.source.packing.offsets, batch.target_in.ids,
                         batch.target_in.packing.offsets, batch.targets};
    for (std::size_t i = 1; i < all.size(); ++i)
        CHECK(all[i].data() == all[i - 1].data() + all[i - 1].size());
}

TEST_CASE("a batch without pads, or with a source that begins with one, is not packed") {
    const Ids full({2, 1}, {1, 2}), first({2, 2}, {0, 2, 1, 0});
    for (const auto& [source, target] : {std::pair{full, full}, {first, first}}) {
        const Batch batch = make_batch(source, target, target);
        CHECK(batch.source.packing.empty());
        CHECK(batch.target_in.packing.empty());
        CHECK(same_bits(batch.targets, target));
        CHECK(batch.n_targets == 2);
    }
}

TEST_CASE("a sentence to translate must have words, all of them known") {
    const Corpus corpus = toy_corpus();
    CHECK(row(source_ids(corpus.source, split_words("我 有 友")), 0) == std::vector{1, 2, 7});
    CHECK_THROWS_WITH(source_ids(corpus.source, {"我", "狗"}), Contains("unknown word 狗"));
    CHECK_THROWS_WITH(source_ids(corpus.source, {}), Contains("no word"));
}

TEST_CASE("a file of pairs may have empty lines, Windows line ends and further columns") {
    const Folder folder;
    const fs::path file = folder.put("pairs.tsv",
                                     "\xEF\xBB\xBFich mochte ein bier\ti want a beer .\r\n"
                                     "\r\n"
                                     "   \n"
                                     "ich mochte ein cola P\ti want a coke .\tCC-BY\tsomebody");
    const Corpus corpus = read_corpus(file, 100);
    REQUIRE(corpus.train.size() == 2);
    CHECK(corpus.held_out.empty());
    CHECK(text(corpus.train[0]) == "ich mochte ein bier -> i want a beer .");
    CHECK(text(corpus.train[1]) == "ich mochte ein cola P -> i want a coke .");
    CHECK(corpus.source.words() == split_words("P ich mochte ein bier cola"));
    CHECK(corpus.target.words() == split_words("P S E i want a beer . coke"));
}

TEST_CASE("sentences that look alike are alike, whatever characters they are written with") {
    const Folder folder;
    const auto words_of = [&](const std::string& content) {
        const Corpus corpus = read_corpus(folder.put("pairs.tsv", content), 100);
        return std::pair(corpus.source.words(), corpus.target.words());
    };
    const std::string line = "ein bier \u00E9\ta beer \u00E9\n";
    const auto expected = words_of(line);
    CHECK(expected.first == split_words("P ein bier \u00E9"));
    for (const std::string space : {"\u00A0", "\u3000", "\u2009"})
        CHECK(words_of(replace_all(line, " ", space)) == expected);
    for (const std::string mark : {"\uFEFF", "\u200B", "\u00AD", "\uFE0F"})
        CHECK(words_of(line + mark + replace_all(line, "e", "e" + mark)) == expected);
    CHECK(words_of(line + replace_all(line, "\u00E9", "e\u0301")) == expected);
    CHECK(words_of("\uFEFF\n" + line + "\u3000\t\n\u200B\n") == expected);  // blank lines
    CHECK(words_of("a\u200Db\tc\n").first == split_words("P a\u200Db"));
}

TEST_CASE("a line that is not UTF-8 is named with file, number and byte") {
    CHECK(failure("a\tb\nein \xE9\tan \xE9\n")
              .starts_with(":2: byte 5 is 0xE9, which is not UTF-8; convert the file"));
    std::string marks = "a\te";
    for (int i = 0; i <= 1000; ++i) marks += "\u0301";
    CHECK(failure("a\tb\n" + marks + "\n") == ":2: a letter has more than 1000 marks");
}

TEST_CASE("a line that is no pair is named with file, number and value") {
    CHECK(failure("a\tb\n\na b c\n") == ":3: no tab between source and target: a b c");
    CHECK(failure("a\tb\n\tb\n") == ":2: no source before the tab: \\x09b");
    CHECK(failure("a\t \r\n") == ":1: no target after the tab: a\\x09 ");
    CHECK(failure("a\tb\na\tx E y\n") ==
          ":2: the word E is reserved as a symbol and cannot occur in a target");
    CHECK(failure("a\tP\n").find("the word P") != std::string::npos);
    CHECK(failure("a\tS\n").find("the word S") != std::string::npos);
    CHECK(failure("a b c d\tx\n", 3) ==
          ":1: a sentence of 4 words, but the model takes at most 3: a b c d\\x09x");
    CHECK(failure("a b c\tw x y z\n", 3).find("a sentence of 4 words") != std::string::npos);
}

TEST_CASE("a long line is cut in its message, but not within a character") {
    std::string line = "x";
    for (int i = 0; i < 80; ++i) line += "好";
    const std::string message = failure(line + "\n");
    CHECK(message.find("好...") == message.size() - 6);
    CHECK(message.size() < 230);
    CHECK(failure("a\x1b[31m\x07 b\n") ==
          ":1: no tab between source and target: a\\x1B[31m\\x07 b");
}

TEST_CASE("a file without pairs, and one that cannot be read, are named") {
    CHECK(failure("") == ": no pair of sentences in the file");
    CHECK(failure("\n  \n\r\n") == ": no pair of sentences in the file");
    const Folder folder;
    CHECK_THROWS_WITH(read_corpus(folder.path / "none.tsv", 9),
                      Contains("cannot read") && Contains("none.tsv"));
    CHECK_THROWS_WITH(read_corpus(folder.path, 9), Contains("cannot read"));
}
