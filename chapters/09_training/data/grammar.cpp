#include "chapters/09_training/data/grammar.hpp"

namespace abh {
// [words]
namespace {

struct Person {
    const char *chinese, *english;
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
};
enum class Form { statement, negation, question };

constexpr Person persons[] = {
    {"我", "I", false}, {"你", "you", false}, {"他", "he", true}, {"她", "she", true}};
constexpr Verb verbs[] = {{"有", "have", "has", "没"},
                          {"喜 欢", "like", "likes", "不"},
                          {"认 识", "know", "knows", "不"}};
constexpr Count counts[] = {{"一 个", "a"}, {"两 个", "two"}, {"三 个", "three"}};
constexpr const char* adjectives[][2] = {{"", ""}, {"好", "good"}, {"老", "old"}};
constexpr Noun nouns[] = {{"朋 友", "friend", "friends"},
                          {"女 朋 友", "girl friend", "girl friends"},
                          {"男 朋 友", "boy friend", "boy friends"},
                          {"老 师", "teacher", "teachers"},
                          {"学 生", "student", "students"},
                          {"孩 子", "child", "children"}};
// [translate]
/// For example, `两 个 老 朋 友` and `two old friends`.
SentencePair noun_phrase(const Count& count, const char* const (&adjective)[2], const Noun& noun) {
    const bool one = &count == &counts[0];
    const bool an = one && adjective[1][0] == 'o';  // an old friend
    const std::string article = an ? "an" : count.english;
    return {split_words(fmt::format("{} {} {}", count.chinese, adjective[0], noun.chinese)),
            split_words(
                fmt::format("{} {} {}", article, adjective[1], one ? noun.singular : noun.plural))};
}

SentencePair sentence(Form form, const Person& person, const Verb& verb,
                      const SentencePair& object) {
    const std::string chinese = join_words(object.source), english = join_words(object.target);
    const char* const auxiliary = person.third ? "does" : "do";
    switch (form) {
        case Form::negation:
            return {split_words(fmt::format("{} {} {} {}", person.chinese, verb.negation,
                                            verb.chinese, chinese)),
                    split_words(fmt::format("{} {} not {} {} .", person.english, auxiliary,
                                            verb.english, english))};
        case Form::question:
            return {split_words(fmt::format("{} {} {} 吗", person.chinese, verb.chinese, chinese)),
                    split_words(fmt::format("{} {} {} {} ?", auxiliary, person.english,
                                            verb.english, english))};
        default:
            return {split_words(fmt::format("{} {} {}", person.chinese, verb.chinese, chinese)),
                    split_words(fmt::format("{} {} {} .", person.english,
                                            person.third ? verb.third : verb.english, english))};
    }
}

}  // namespace
// [grammar]
Corpus grammar_corpus() {
    Corpus corpus = empty_corpus();
    Index combination = 1;  // numbered so that 有, 一 个, 女 朋 友 is the first one held out
    for (const Verb& verb : verbs)
        for (const Count& count : counts)
            for (const Noun& noun : nouns) {
                const bool hold = combination++ % 11 == 2;
                for (const Person& person : persons)
                    for (const auto& adjective : adjectives)
                        for (Form form : {Form::statement, Form::negation, Form::question}) {
                            SentencePair pair =
                                sentence(form, person, verb, noun_phrase(count, adjective, noun));
                            add_words(corpus, pair);
                            (hold ? corpus.held_out : corpus.train).push_back(std::move(pair));
                        }
            }
    return corpus;
}

}  // namespace abh
