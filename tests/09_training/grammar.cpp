// Once: the grammar, and what of it is held out.
#include "chapters/09_training/data/grammar.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tests/catch.hpp"

using namespace abh;

TEST_CASE("the grammar has 1,764 pairs to train on and 180 held out, all different") {
    const Corpus corpus = grammar_corpus();
    CHECK(corpus.train.size() == 1764);
    CHECK(corpus.held_out.size() == 180);
    std::set<std::string> sources, targets;
    for (const auto* pairs : {&corpus.train, &corpus.held_out})
        for (const SentencePair& pair : *pairs) {
            sources.insert(join_words(pair.source));
            targets.insert(join_words(pair.target));
        }
    CHECK(sources.size() == 1944);  // so no held-out sentence is trained on
    CHECK(targets.size() == 1944);
}

TEST_CASE("the grammar translates as it should") {
    const Corpus corpus = grammar_corpus();
    std::map<std::string, std::string> english;
    for (const auto* pairs : {&corpus.train, &corpus.held_out})
        for (const SentencePair& pair : *pairs)
            english[join_words(pair.source)] = join_words(pair.target);
    CHECK(english["我 有 一 个 好 朋 友"] == "I have a good friend .");
    CHECK(english["她 喜 欢 两 个 老 老 师"] == "she likes two old teachers .");
    CHECK(english["他 没 有 一 个 老 孩 子"] == "he does not have an old child .");
    CHECK(english["你 不 认 识 三 个 男 朋 友"] == "you do not know three boy friends .");
    CHECK(english["她 有 三 个 孩 子 吗"] == "does she have three children ?");
    CHECK(english["我 认 识 一 个 学 生 吗"] == "do I know a student ?");
}

TEST_CASE("the source's unseen sentence is the first that the grammar holds out") {
    const Corpus corpus = grammar_corpus();
    CHECK(join_words(corpus.held_out.front().source) == "我 有 一 个 女 朋 友");
    CHECK(join_words(corpus.held_out.front().target) == "I have a girl friend .");
    std::set<std::string> trained;
    for (const SentencePair& pair : corpus.train) trained.insert(join_words(pair.source));
    CHECK(trained.count("我 有 一 个 女 朋 友") == 0);
    CHECK(trained.count("我 有 一 个 好 女 朋 友") == 0);
    CHECK(trained.count("我 有 两 个 女 朋 友") == 1);
}

TEST_CASE("held out are whole combinations of verb, count and noun; each two of them are trained") {
    // in Chinese no word changes with person or number
    const std::vector<std::string> verbs{" 有 ", " 喜 欢 ", " 认 识 "},
        counts{" 一 个 ", " 两 个 ", " 三 个 "},
        nouns{" 女 朋 友 ", " 男 朋 友 ", " 朋 友 ", " 老 师 ", " 学 生 ", " 孩 子 "};
    using Triple = std::array<std::ptrdiff_t, 3>;
    const auto triple = [&](const SentencePair& pair) {
        const std::string line = fmt::format(" {} ", join_words(pair.source));
        const auto which = [&](const std::vector<std::string>& list) {
            const auto stands = [&](const std::string& words) {
                return line.find(words) < line.size();
            };
            const auto found = std::ranges::find_if(list, stands);
            REQUIRE(found != list.end());
            return found - list.begin();
        };
        return Triple{which(verbs), which(counts), which(nouns)};
    };

    const Corpus corpus = grammar_corpus();
    std::map<Triple, int> trained, held;
    std::set<Triple> twos;  // which two, and their values
    std::set<std::string> words;
    for (const SentencePair& pair : corpus.train) {
        const Triple t = triple(pair);
        ++trained[t];
        twos.insert({{0, t[0], t[1]}, {1, t[0], t[2]}, {2, t[1], t[2]}});
        words.insert(pair.source.begin(), pair.source.end());
        words.insert(pair.target.begin(), pair.target.end());
    }
    for (const SentencePair& pair : corpus.held_out) {
        ++held[triple(pair)];
        for (const auto* sentence : {&pair.source, &pair.target})
            for (const std::string& word : *sentence) CHECK(words.count(word) == 1);
    }
    CHECK(trained.size() == 49);
    CHECK(held.size() == 5);
    for (const auto& [t, count] : trained) CHECK(count == 36);
    for (const auto& [t, count] : held) {
        CHECK(count == 36);  // every person, adjective and form
        CHECK(trained.count(t) == 0);
    }
    CHECK(twos.size() == 3 * 3 + 3 * 6 + 3 * 6);
}
