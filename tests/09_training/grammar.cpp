// Once: the grammar, and what of it is held out.
#include "chapters/09_training/data/grammar.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tests/catch.hpp"

using namespace abh;

namespace {

std::set<std::string> sources(const std::vector<SentencePair>& pairs) {
    std::set<std::string> lines;
    for (const SentencePair& pair : pairs) lines.insert(join_words(pair.source));
    return lines;
}

}  // namespace

TEST_CASE("the grammar has 2,247 pairs to train on and 273 held out, all different") {
    const Corpus corpus = grammar_corpus();
    CHECK(corpus.train.size() == 2247);
    CHECK(corpus.held_out.size() == 273);
    std::set<std::string> sources, targets;
    for (const auto* pairs : {&corpus.train, &corpus.held_out})
        for (const SentencePair& pair : *pairs) {
            sources.insert(join_words(pair.source));
            targets.insert(join_words(pair.target));
        }
    CHECK(sources.size() == 2520);  // so no held-out sentence is trained on
    CHECK(targets.size() == 2520);
}

TEST_CASE("the grammar translates as it should") {
    const Corpus corpus = grammar_corpus();
    std::map<std::string, std::string> english;
    for (const auto* pairs : {&corpus.train, &corpus.held_out})
        for (const SentencePair& pair : *pairs)
            english[join_words(pair.source)] = join_words(pair.target);
    CHECK(english["我 有 一 个 好 朋 友"] == "I have a good friend .");
    CHECK(english["她 喜 欢 一 个 老 学 生"] == "she likes an old student .");
    CHECK(english["他 没 有 一 个 好 孩 子"] == "he does not have a good child .");
    CHECK(english["他 们 不 认 识 两 个 男 朋 友"] == "they do not know two boy friends .");
    CHECK(english["她 有 两 个 孩 子 吗"] == "does she have two children ?");
    CHECK(english["我 认 识 一 个 学 生 吗"] == "do I know a student ?");
    CHECK(english["他 们 喜 欢 我 吗"] == "do they like me ?");
    CHECK(english["这 个 好 老 师 不 认 识 她"] == "this good teacher does not know her .");
    CHECK(english["这 个 老 师 喜 欢 这 个 学 生"] == "this teacher likes this student .");
    CHECK(english["这 个 学 生 喜 欢 这 个 老 师"] == "this student likes this teacher .");
    CHECK(english.count("我 喜 欢 我") == 0);
    CHECK(english.count("他 有 一 个 老 孩 子") == 0);
    CHECK(english.count("他 有 一 个 老 老 师") == 0);
}

TEST_CASE("the source's unseen sentence is the first that the grammar holds out") {
    const Corpus corpus = grammar_corpus();
    CHECK(join_words(corpus.held_out.front().source) == "我 有 一 个 女 朋 友");
    CHECK(join_words(corpus.held_out.front().target) == "I have a girl friend .");
    const std::set<std::string> trained = sources(corpus.train);
    CHECK(trained.count("我 有 一 个 女 朋 友") == 0);
    CHECK(trained.count("我 有 一 个 好 女 朋 友") == 0);
    CHECK(trained.count("我 有 两 个 女 朋 友") == 1);
}

TEST_CASE("of who and whom, the reverse of what is held out is trained, or held out as well") {
    const HeldOutKinds held = grammar_held_out();
    CHECK(held.combination.size() == 135);
    CHECK(held.swapped.size() == 72);
    CHECK(held.both_ways.size() == 66);
    std::vector<SentencePair> all = held.combination;
    all.insert(all.end(), held.swapped.begin(), held.swapped.end());
    all.insert(all.end(), held.both_ways.begin(), held.both_ways.end());
    const Corpus corpus = grammar_corpus();
    CHECK(
        std::ranges::equal(all, corpus.held_out, {}, &SentencePair::source, &SentencePair::source));

    const auto reverse = [](const SentencePair& pair) {  // what is around the verb changes places
        std::vector<std::string> words = pair.source, verb;
        const bool asks = words.back() == "吗";
        if (asks) words.pop_back();
        const auto at = std::ranges::find_if(
            words, [](const std::string& w) { return w == "不" || w == "喜" || w == "认"; });
        const auto end = at + (*at == "不" ? 3 : 2);
        std::vector<std::string> line(end, words.end());
        line.insert(line.end(), at, end);
        line.insert(line.end(), words.begin(), at);
        if (asks) line.emplace_back("吗");
        return join_words(line);
    };
    const std::set<std::string> trained = sources(corpus.train), unseen = sources(held.both_ways);
    for (const SentencePair& pair : held.swapped) CHECK(trained.count(reverse(pair)) == 1);
    for (const SentencePair& pair : held.both_ways) CHECK(unseen.count(reverse(pair)) == 1);
    CHECK(unseen.count("这 个 老 师 喜 欢 这 个 学 生") == 1);
}

TEST_CASE("held out are whole combinations of verb, count and noun; each two of them are trained") {
    // in Chinese no word changes with person or number
    const std::vector<std::string> verbs{" 有 ", " 喜 欢 ", " 认 识 "},
        counts{" 一 个 ", " 两 个 "},
        nouns{" 女 朋 友 ", " 男 朋 友 ", " 朋 友 ", " 老 师 ", " 学 生 ", " 孩 子 "};
    using Triple = std::array<std::ptrdiff_t, 3>;
    const auto triple = [&](const SentencePair& pair) {
        const std::string line = fmt::format(" {} ", join_words(pair.source));
        const auto which = [&](const std::vector<std::string>& list) {
            const auto stands = [&](const std::string& words) {
                return line.find(words) < line.size();
            };
            const auto found = std::ranges::find_if(list, stands);
            return found - list.begin();  // counts.size() for a sentence of who and whom
        };
        return Triple{which(verbs), which(counts), which(nouns)};
    };

    const Corpus corpus = grammar_corpus();
    std::map<Triple, int> trained, held;
    std::set<Triple> twos;  // which two, and their values
    std::set<std::string> words;
    for (const SentencePair& pair : corpus.train) {
        words.insert(pair.source.begin(), pair.source.end());
        words.insert(pair.target.begin(), pair.target.end());
        const Triple t = triple(pair);
        if (t[1] == 2) continue;
        ++trained[t];
        twos.insert({{0, t[0], t[1]}, {1, t[0], t[2]}, {2, t[1], t[2]}});
    }
    for (const SentencePair& pair : corpus.held_out) {
        if (const Triple t = triple(pair); t[1] != 2) ++held[t];
        for (const auto* sentence : {&pair.source, &pair.target})
            for (const std::string& word : *sentence) CHECK(words.count(word) == 1);
    }
    CHECK(trained.size() == 32);
    CHECK(held.size() == 4);
    // every person, adjective and form; friends and students may be old
    const auto pairs = [](const Triple& t) { return t[2] == 2 || t[2] == 4 ? 45 : 30; };
    for (const auto& [t, count] : trained) CHECK(count == pairs(t));
    for (const auto& [t, count] : held) {
        CHECK(count == pairs(t));
        CHECK(trained.count(t) == 0);
    }
    CHECK(twos.size() == 3 * 2 + 3 * 6 + 2 * 6);
}
