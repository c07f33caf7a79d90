#include "chapters/09_training/data/grammar.hpp"

#include <span>

namespace abh {
// [words]
namespace {

/// Somebody, as the one who does something and as the one to whom it is done.
struct Phrase {
    std::string chinese, subject, object;
    bool third;  ///< takes `has` and `does`
};
struct Verb {
    const char *chinese, *english, *third, *negation;
};
struct Count {
    const char *chinese, *english;
};
struct Noun {
    const char *chinese, *singular, *plural;
    bool old;  ///< whether one says 老, which means of long standing: not of children
};
struct Adjective {
    const char *chinese, *english;
};
enum class Form { statement, negation, question };

const Phrase persons[] = {{"我", "I", "me", false},
                          {"你", "you", "you", false},
                          {"他", "he", "him", true},
                          {"她", "she", "her", true},
                          {"他 们", "they", "them", false}};
constexpr Verb verbs[] = {{"有", "have", "has", "没"},
                          {"喜 欢", "like", "likes", "不"},
                          {"认 识", "know", "knows", "不"}};
constexpr Count counts[] = {{"一 个", "a"}, {"两 个", "two"}};
constexpr Adjective adjectives[] = {{"", ""}, {"好", "good"}, {"老", "old"}};
constexpr Noun nouns[] = {{"女 朋 友", "girl friend", "girl friends", false},
                          {"男 朋 友", "boy friend", "boy friends", false},
                          {"朋 友", "friend", "friends", true},
                          {"老 师", "teacher", "teachers", false},
                          {"学 生", "student", "students", true},
                          {"孩 子", "child", "children", false}};

/// The adjectives that go with this noun, or none.
std::span<const Adjective> adjectives_of(const Noun& noun) {
    return std::span(adjectives).first(noun.old ? 3 : 2);
}
// [translate]
/// For example, `两 个 老 朋 友` and `two old friends`.
Phrase counted(const Count& count, const Adjective& adjective, const Noun& noun) {
    const bool one = &count == &counts[0];
    const bool an = one && adjective.english[0] == 'o';  // an old friend
    const std::string english = fmt::format("{} {} {}", an ? "an" : count.english,
                                            adjective.english, one ? noun.singular : noun.plural);
    return {fmt::format("{} {} {}", count.chinese, adjective.chinese, noun.chinese), english,
            english, one};
}

/// For example, `这 个 好 学 生` and `this good student`.
Phrase pointed_at(const Adjective& adjective, const Noun& noun) {
    const std::string english = fmt::format("this {} {}", adjective.english, noun.singular);
    return {fmt::format("这 个 {} {}", adjective.chinese, noun.chinese), english, english, true};
}

SentencePair sentence(Form form, const Phrase& who, const Verb& verb, const Phrase& whom) {
    const auto pair = [](const std::string& chinese, const std::string& english) {
        return SentencePair{split_words(chinese), split_words(english)};
    };
    const char* const auxiliary = who.third ? "does" : "do";
    switch (form) {
        case Form::negation:
            return pair(
                fmt::format("{} {} {} {}", who.chinese, verb.negation, verb.chinese, whom.chinese),
                fmt::format("{} {} not {} {} .", who.subject, auxiliary, verb.english,
                            whom.object));
        case Form::question:
            return pair(
                fmt::format("{} {} {} 吗", who.chinese, verb.chinese, whom.chinese),
                fmt::format("{} {} {} {} ?", auxiliary, who.subject, verb.english, whom.object));
        default:
            return pair(fmt::format("{} {} {}", who.chinese, verb.chinese, whom.chinese),
                        fmt::format("{} {} {} .", who.subject,
                                    who.third ? verb.third : verb.english, whom.object));
    }
}

void add(std::vector<SentencePair>& pairs, const Phrase& who, const Verb& verb,
         const Phrase& whom) {
    for (const Form form : {Form::statement, Form::negation, Form::question})
        pairs.push_back(sentence(form, who, verb, whom));
}
// [parts]
/// Pairs that say who has, likes or knows one or two of something.
void add_first_part(std::vector<SentencePair>& train, HeldOutKinds& held) {
    Index combination = 0;  // the first one held out is 有, 一 个, 女 朋 友
    for (const Verb& verb : verbs)
        for (const Count& count : counts)
            for (const Noun& noun : nouns) {
                const bool hold = combination++ % 11 == 0;
                for (const Phrase& person : persons)
                    for (const Adjective& adjective : adjectives_of(noun))
                        add(hold ? held.combination : train, person, verb,
                            counted(count, adjective, noun));
            }
}

/// Pairs that say who likes or knows whom.
void add_second_part(std::vector<SentencePair>& train, HeldOutKinds& held) {
    std::vector<Phrase> people(std::begin(persons), std::end(persons));
    for (const Noun& noun : std::span(nouns).last(4))
        for (const Adjective& adjective : adjectives_of(noun))
            people.push_back(pointed_at(adjective, noun));
    Index two = 13;  // so that 喜 欢, 这 个 老 师, 这 个 学 生 is held out both ways round
    for (const Verb& verb : std::span(verbs).last(2))
        for (std::size_t i = 0; i < people.size(); ++i)
            for (std::size_t j = i + 1; j < people.size(); ++j) {
                const Index turn = two++ % 18;  // hold out one way round, the other, or both
                auto& kind = turn == 8 ? held.both_ways : held.swapped;
                add(turn == 2 || turn == 8 ? kind : train, people[i], verb, people[j]);
                add(turn == 5 || turn == 8 ? kind : train, people[j], verb, people[i]);
            }
}

/// All pairs: those to train on in the corpus, and the others.
HeldOutKinds divided(Corpus& corpus) {
    HeldOutKinds held;
    add_first_part(corpus.train, held);
    add_second_part(corpus.train, held);
    return held;
}

}  // namespace
// [grammar]
Corpus grammar_corpus() {
    Corpus corpus = empty_corpus();
    const HeldOutKinds held = divided(corpus);
    for (const SentencePair& pair : corpus.train) add_words(corpus, pair);
    for (const auto* pairs : {&held.combination, &held.swapped, &held.both_ways})
        corpus.held_out.insert(corpus.held_out.end(), pairs->begin(), pairs->end());
    return corpus;
}

HeldOutKinds grammar_held_out() {
    Corpus corpus;
    return divided(corpus);
}

}  // namespace abh
