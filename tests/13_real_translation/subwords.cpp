// Once: subwords.
#include "chapters/13_real_translation/subwords/subwords.hpp"

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "lib/random.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

const std::vector<std::string>& sentences() {
    static const std::vector<std::string> all = [] {
        const ParallelText text = tatoeba();
        return both_sides(std::span(text.train).first(1500));
    }();
    return all;
}

const Subwords& subwords() {
    static const Subwords learned = Subwords::train(sentences(), 2500);
    return learned;
}

/// A text of characters drawn from all of Unicode, from ASCII, and from what means something here.
std::string random_text(const Stream& stream, Index length) {
    const Ids kinds = random_ids({length}, 0, 4, stream);
    std::u32string codes;
    static const std::u32string special =
        U"▅\n\t <>s/ 0x41😀\U00100000é"
        U"好我\u0301\u200D\uFFFD\uFFFF\uFEFF";
    for (Index i = 0; i < length; ++i) {
        const auto draw = [&](double n) {
            return static_cast<char32_t>(static_cast<double>(stream.uniform(length + i)) * n);
        };
        char32_t code = kinds(i) == 0   ? draw(0x10FFFF)
                        : kinds(i) == 1 ? special[draw(static_cast<double>(special.size()))]
                                        : draw(0x80);
        if (code >= 0xD800 && code <= 0xDFFF) code = U'x';
        codes += code;
    }
    return utf8(codes);
}

}  // namespace

TEST_CASE("pad, start and end are 0, 2 and 3, and no text becomes one of them") {
    CHECK(subwords().symbols().pad == 0);
    CHECK(subwords().symbols().start == 2);
    CHECK(subwords().symbols().end == 3);
    CHECK(subwords().size() == 2500);
    for (const char* text : {"<s>", "</s>", "<pad>", "<unk>", "a</s>b", "<0x41>"}) {
        const auto ids = subwords().encode(text);
        CHECK(std::ranges::all_of(ids, [](std::int32_t id) { return id > 3; }));
        CHECK(subwords().decode(ids) == text);
    }
}

TEST_CASE("what is cut into pieces is put together again, whatever it is") {
    for (const std::string& sentence : sentences())
        if (subwords().decode(subwords().encode(sentence)) != sentence) FAIL(sentence);
    for (const char* text : {"", " ", "  two  spaces ", "😀 é Ж\n\ttab", "\u0301x"})
        CHECK(subwords().decode(subwords().encode(text)) == text);
    CHECK(subwords().decode(subwords().encode("我有▁一个")) == "我有 一个");  // the exception
    Random random(11);
    for (int i = 0; i < 300; ++i) {
        const std::string text = nfc(random_text(random.stream(), 1 + i % 40));
        const auto ids = subwords().encode(text);
        if (subwords().decode(ids) != text) FAIL(printable(text));
        CHECK(std::ranges::none_of(ids, [](std::int32_t id) { return id <= 3; }));
    }
}

TEST_CASE("an unknown character becomes its bytes, and without them it is unknown") {
    CHECK(subwords().pieces("😀") ==
          std::vector<std::string>{"▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"});
    const Subwords without = Subwords::train(std::vector<std::string>{"a b c", "b a"}, 20, false);
    const auto ids = without.encode("a😀");
    CHECK(std::ranges::count(ids, 1) == 1);
    CHECK(without.pieces("a😀").back() == "😀");
}

TEST_CASE("decoding leaves out start, end and pad, and repairs what is not UTF-8") {
    auto ids = subwords().encode("I have a good friend.");
    ids.insert(ids.begin(), subwords().symbols().start);
    ids.insert(ids.end(),
               {subwords().symbols().end, subwords().symbols().pad, subwords().symbols().pad});
    CHECK(subwords().decode(ids) == "I have a good friend.");
    CHECK(subwords().decode({}) == "");
    const auto bytes = subwords().encode("😀");
    CHECK(is_utf8(subwords().decode(std::span(bytes).first(3))));
    for (const std::int32_t wrong : {-1, 2500}) {
        CHECK_THROWS_AS(subwords().decode(std::vector{wrong}), std::invalid_argument);
        CHECK_THROWS_AS(subwords().piece(wrong), std::invalid_argument);
    }
}

TEST_CASE("the same sentences give the same model, and its bytes give it back") {
    const Subwords again = Subwords::train(sentences(), 2500);
    CHECK(again.model() == subwords().model());
    const Subwords loaded(subwords().model());
    CHECK(loaded.encode(sentences()[3]) == subwords().encode(sentences()[3]));
}

TEST_CASE("what pieces cannot be learned from is said in a sentence") {
    CHECK_THROWS_WITH(Subwords::train({}, 1000), Contains("no sentence"));
    CHECK_THROWS_WITH(Subwords::train(std::vector<std::string>{"a\xFF"}, 1000),
                      Contains("not UTF-8: a\\xFF"));
    CHECK_THROWS_WITH(subwords().encode("a\xFF"), Contains("byte 2 is not UTF-8"));
    CHECK_THROWS_WITH(subwords().pieces("\x80"), Contains("byte 1 is not UTF-8"));
}

TEST_CASE("too few pieces are refused with a number that is enough, and the option for it") {
    const auto message = [](Index n_pieces) -> std::string {
        try {
            Subwords::train(sentences(), n_pieces);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    const std::string refused = message(270);
    CHECK_THAT(refused, Contains("270 pieces") && Contains("(--pieces)"));
    CHECK_THAT(refused, !Contains("character_coverage"));  // which is no option here
    const std::size_t at = refused.find("at least ");
    REQUIRE(at != refused.npos);
    const Index enough = std::stoi(refused.substr(at + 9));
    CHECK(message(enough).empty());
    CHECK_FALSE(message(enough - 1).empty());
}

namespace {

using TrainerOptions = std::unordered_map<std::string, std::string>;

/// A model of 400 sentences, with other options than the book's.
std::string train_otherwise(TrainerOptions options) {
    struct Text : sentencepiece::SentenceIterator {
        std::size_t at = 0;
        bool done() const override { return at == 400; }
        void Next() override { ++at; }
        const std::string& value() const override { return sentences()[1500 + at]; }
        sentencepiece::util::Status status() const override { return {}; }
    } text;
    options.insert({{"hard_vocab_limit", "false"}, {"minloglevel", "2"}});
    std::string model;
    REQUIRE(sentencepiece::SentencePieceTrainer::Train(options, &text, &model).ok());
    return model;
}

/// A model as others train it: by the unigram algorithm, with rules of normalization.
const std::string& foreign_model() {
    static const std::string trained = train_otherwise({{"model_type", "unigram"},
                                                        {"vocab_size", "200"},
                                                        {"unk_id", "1"},
                                                        {"eos_id", "0"},
                                                        {"bos_id", "-1"},
                                                        {"normalization_rule_name", "nmt_nfkc"}});
    return trained;
}

/// Loads what may be a model, and uses it. @return whether that went well
bool use(const std::string& model) {
    try {
        const Subwords subwords(model);
        const std::string text = "ab ▁ 😀 Ａ ﬁ e\u0301 \u3000";
        subwords.decode(subwords.encode(text));
        subwords.join(subwords.pieces(text));
        return true;
    } catch (const std::exception& error) {
        CHECK(is_utf8(error.what()));
        return false;
    }
}

}  // namespace

TEST_CASE("a model with other symbols and rules of normalization serves, too") {
    const Subwords foreign(foreign_model());
    CHECK(foreign.symbols().end == 0);
    CHECK(foreign.symbols().start == -1);
    CHECK(foreign.symbols().pad == -1);
    CHECK(foreign.decode(foreign.encode("Ｉ ﬁnd")) == "I find");
}

TEST_CASE("bytes that are no model are an error, and a damaged one does no harm") {
    CHECK_FALSE(use(""));
    CHECK_FALSE(use("not a model"));
    CHECK_FALSE(use(std::string(1000, '\0')));
    const std::string own = Subwords::train(std::vector<std::string>{"a b ab", "abc"}, 300).model();
    Random random(5);
    for (const std::string& good : {own, foreign_model()}) {
        CHECK(use(good));
        for (std::size_t size = 0; size < good.size(); size += 1 + good.size() / 200)
            use(good.substr(0, size));  // where it ends between two pieces it is a smaller model
        int refused = 0;
        for (int i = 0; i < 1500; ++i) {
            const Stream stream = random.stream();
            std::string altered = good;
            const Ids places = random_ids({3}, 0, static_cast<std::int32_t>(good.size()), stream);
            for (Index j = 0; j < 3; ++j)
                altered[static_cast<std::size_t>(places(j))] =
                    static_cast<char>(256 * stream.uniform(10 + j));
            refused += !use(altered);
        }
        CHECK(refused > 100);
    }
}

namespace {

/// Where the table of characters of `foreign_model` begins, with the size of its trie.
std::size_t table_of(const std::string& model) {
    const std::size_t name = model.find("nmt_nfkc");
    REQUIRE(name != model.npos);
    std::size_t table = name + 8 + 1;  // behind the name: the table's field, its length, the table
    while (model[table] & 0x80) ++table;
    return table + 1;
}

/// The foreign model with other units, by their places; all others are 0.
std::string with_trie(const std::map<std::size_t, std::uint32_t>& units) {
    std::string model = foreign_model();
    const std::size_t table = table_of(model);
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, &model[table], 4);
    std::memset(&model[table + 4], 0, bytes);
    for (const auto& [at, unit] : units) std::memcpy(&model[table + 4 + 4 * at], &unit, 4);
    return model;
}

/// A model with `n` symbols a, aa, aaa, ... that somebody has defined.
std::string with_symbols(int n) {
    std::string symbols;
    for (int i = 1; i <= n; ++i) {
        if (i > 1) symbols += ',';
        symbols.append(static_cast<std::size_t>(i), 'a');
    }
    return train_otherwise(
        {{"model_type", "unigram"}, {"vocab_size", "300"}, {"user_defined_symbols", symbols}});
}

}  // namespace

TEST_CASE(
    "a table of characters that is endless, points outside or has the wrong size is refused") {
    const auto own = [](std::uint32_t label, std::uint32_t distance, bool leaf) {
        return distance << 10 | (leaf ? 0x100u : 0u) | label;
    };
    // Byte a leads from a to itself, where an entry ends: a, aa, aaa, ...
    CHECK_THROWS_WITH(Subwords(with_trie({{'a', own('a', 'a', true)}})),
                      Contains("more than 32 entries"));
    CHECK_NOTHROW(Subwords(with_trie({{'a', own('a', 'a', false)}})));
    // a root that pretends to be a leaf, and units that lead far away
    CHECK_THROWS_WITH(Subwords(with_trie({{0, 0xFFFFFE00}})), Contains("points outside itself"));
    for (const std::uint32_t unit : {0x7FFFFC00u, 0x7FFFFF00u}) {
        std::map<std::size_t, std::uint32_t> units;
        for (std::size_t i = 0; i < 64; ++i) units[i] = unit;
        CHECK_THROWS_WITH(Subwords(with_trie(units)), Contains("points outside"));
    }
    CHECK_NOTHROW(Subwords(with_trie({})));
    std::string model = foreign_model();
    const std::size_t table = table_of(model);
    std::uint32_t size = 0;
    std::memcpy(&size, &model[table], 4);
    for (const std::uint32_t wrong : {size + 1, 0u, 512u, 0xFFFFFFFCu}) {
        std::memcpy(&model[table], &wrong, 4);
        CHECK_THROWS_WITH(Subwords(model), Contains("table of characters has the wrong size"));
    }
}

TEST_CASE("a field whose number the library would cut off is refused") {
    std::string model = foreign_model();
    std::size_t rules = model.find("nmt_nfkc") - 3;  // before the name: its field and its length
    while (model[rules - 1] & 0x80) --rules;
    REQUIRE(model[rules - 1] == 0x1A);
    model.replace(rules - 1, 1, "\x9A\x80\x80\x80\x10");
    CHECK_THROWS_WITH(Subwords(model), Contains("number is too large"));
}

TEST_CASE("more than 64 defined symbols are refused") {
    CHECK_THROWS_WITH(Subwords(with_symbols(65)), Contains("more than 64 user-defined symbols"));
    const Subwords most(with_symbols(64));
    CHECK(most.decode(most.encode(std::string(100, 'a'))) == std::string(100, 'a'));
}
