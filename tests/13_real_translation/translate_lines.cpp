// Once: translating line by line.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "chapters/13_real_translation/commands.hpp"
#include "lib/io/files.hpp"
#include "lib/io/unicode.hpp"
#include "lib/way.hpp"
#include "tests/13_real_translation/hypotheses.hpp"
#include "tests/support.hpp"
#include "tests/transformers.hpp"

using namespace abh;

namespace {

/// A model with random weights that reads letters a to h as 4 to 11 and says such letters.
LineTranslator letter_model() {
    TransformerOptions o = toy_like();
    o.src_words = o.tgt_words = 12;
    o.output_bias = true;
    Transformer model(o, Random(1));
    for (const NamedParameter& p : parameters_of(model))
        p.parameter->value +=
            uniform(p.parameter->value.shape(), Real(-0.5), Real(0.5), model.random().stream());
    return {.model = std::move(model),
            .encode =
                [](const std::string& text) {
                    std::vector<std::int32_t> ids;
                    for (const char c : tidy(text))
                        if (c >= 'a' && c <= 'h') ids.push_back(c - 'a' + 4);
                    return ids;
                },
            .decode =
                [](std::span<const std::int32_t> ids) {
                    std::string text;
                    for (const std::int32_t id : ids)
                        text += id < 4 ? '?' : static_cast<char>('a' + id - 4);
                    return text;
                },
            .search = {.start = 2, .end = 3, .never = {0, 2}}};
}

/// What a file of this content becomes.
struct Found {
    std::vector<std::string> lines;
    std::string messages;
    Index count;
};

Found translated(const std::string& input, const LineOptions& options = {},
                 const LineTranslator& translator = letter_model()) {
    const ScopedWay fast(Way::fast);  // how lines are read does not depend on the way
    const Folder folder;
    std::istringstream in(input);
    std::FILE *const out = std::fopen((folder / "out").c_str(), "w"),
                     *const messages = std::fopen((folder / "messages").c_str(), "w");
    const Index count = translate_lines(translator, in, out, messages, options);
    std::fclose(out);
    std::fclose(messages);
    return {read_lines(folder / "out"), read_file(folder / "messages"), count};
}

LineOptions few_words() {
    LineOptions o;
    o.beam.max_words = 8;
    return o;
}

/// Lines of different lengths, in no order.
std::vector<std::string> some_lines() {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 23; ++i) {
        std::string line;
        for (std::size_t j = 0; j <= i * 7 % 11; ++j)
            line += static_cast<char>('a' + (i * i + 3 * j) % 8);
        lines.push_back(line);
    }
    return lines;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

}  // namespace

TEST_CASE("each line is translated as if it were alone, and lines stay in order") {
    const std::vector<std::string> lines = some_lines();
    std::vector<std::string> expected;
    for (const std::string& line : lines) {
        const Found alone = translated(line + "\n", few_words());
        REQUIRE(alone.lines.size() == 1);
        expected.push_back(alone.lines[0]);
    }
    CHECK(std::set(expected.begin(), expected.end()).size() >= 4);  // they do differ
    for (const Index batch : {1, 4, 100})
        for (const Index window : {1, 5, 1000}) {
            LineOptions o = few_words();
            o.batch = batch;
            o.window = window;
            const Found found = translated(joined(lines), o);
            CAPTURE(batch, window);
            CHECK(found.lines == expected);
            CHECK(found.count == 23);
            CHECK(found.messages.empty());
        }
}

TEST_CASE("a source ends with its end symbol, and what may not be said is the translator's") {
    const ScopedWay fast(Way::fast);
    const LineTranslator t = letter_model();
    const std::vector<std::vector<std::int32_t>> sources{{4, 7, 5}};
    const BeamOptions options{.n_best = 2, .max_words = 8};
    const auto found = translate_sentences(t, sources, 1, options);
    BeamOptions whole = options;
    whole.start = 2;
    whole.end = 3;
    whole.never = {0, 2};
    const auto expected = beam_search(t.model, Ids({1, 4}, {4, 7, 5, 3}), whole);
    REQUIRE(found[0].size() == 2);
    CHECK(same(found[0], expected[0]));
}

TEST_CASE("a line that cannot be translated gives an empty one, and a message with its number") {
    const Found found = translated(
        "abc\n\nabc\nab\xff"
        "c\n   \t\nabc\n\xc3\nabc",
        few_words());  // no end of the last
    REQUIRE(found.lines.size() == 8);
    CHECK(found.count == 8);
    for (const std::size_t i : {2u, 5u, 7u}) CHECK(found.lines[i] == found.lines[0]);
    CHECK_FALSE(found.lines[0].empty());
    for (const std::size_t i : {1u, 3u, 4u, 6u}) CHECK(found.lines[i].empty());
    CHECK(found.messages ==
          "line 2: no words; its translation is left empty\n"
          "line 4: byte 3 is not UTF-8; its translation is left empty\n"
          "line 5: no words; its translation is left empty\n"
          "line 7: byte 1 is not UTF-8; its translation is left empty\n");
    CHECK(translated("").lines.empty());
    CHECK(translated("\n").lines == std::vector<std::string>{""});
    CHECK(translated("abc\r\n", few_words()).lines[0] == found.lines[0]);
}

TEST_CASE("what is too much for the model costs its line, and no other") {
    std::string marks = "a";
    for (int i = 0; i <= 1000; ++i) marks += "\u0301";
    const std::string fits(19, 'a'), most(1 << 20, 'x');  // x says nothing to this model
    const Found found =
        translated(joined({"abc", marks, fits + "a", fits, most + "x", most, "abc"}), few_words());
    REQUIRE(found.lines.size() == 7);
    CHECK(found.lines[6] == found.lines[0]);
    for (const std::size_t i : {1u, 2u, 4u, 5u}) CHECK(found.lines[i].empty());
    CHECK_FALSE(found.lines[3].empty());
    CHECK(found.messages ==
          "line 2: a letter has more than 1000 marks; its translation is left empty\n"
          "line 3: 20 pieces, but the model takes at most 19; its translation is left empty\n"
          "line 5: longer than 1048576 bytes; its translation is left empty\n"
          "line 6: no words; its translation is left empty\n");
}

TEST_CASE("an n-best list names line, text and score, the best first") {
    LineOptions o = few_words();
    const Found best = translated("abc\n\nhgf\n", o);
    o.beam.n_best = 3;
    o.n_best_list = true;
    const Found list = translated("abc\n\nhgf\n", o);
    REQUIRE(list.lines.size() == 7);
    CHECK(list.lines[3] == "1 |||  ||| 0.000000");
    double last = 0;
    for (const std::size_t i : {0u, 1u, 2u}) {
        const std::string& line = list.lines[i];
        REQUIRE(line.substr(0, 6) == "0 ||| ");
        const std::size_t bar = line.rfind(" ||| ");
        if (i == 0) CHECK(line.substr(6, bar - 6) == best.lines[0]);
        const double score = std::stod(line.substr(bar + 5));
        CHECK(score <= last);
        last = score;
    }
    CHECK(list.lines[4].substr(0, 6 + best.lines[2].size()) == "2 ||| " + best.lines[2]);
}

TEST_CASE("lines that are there are translated without waiting for more") {
    const ScopedWay fast(Way::fast);
    const LineTranslator translator = letter_model();
    int to[2], back[2];
    REQUIRE((::pipe(to) == 0 && ::pipe(back) == 0));
    std::ifstream in(fmt::format("/dev/fd/{}", to[0]));
    std::FILE *const out = ::fdopen(back[1], "w"), *const answers = ::fdopen(back[0], "r"),
                     *const asked = ::fdopen(to[1], "w"), *const messages = std::tmpfile();
    std::thread translating([&] { translate_lines(translator, in, out, messages, few_words()); });
    std::vector<std::string> found;
    for (int i = 0; i < 2; ++i) {  // each line is written when the last one's answer is there
        fmt::print(asked, "abc\n");
        std::fflush(asked);
        pollfd wait{back[0], POLLIN, 0};
        std::array<char, 100> line{};
        if (::poll(&wait, 1, 60000) == 1 && std::fgets(line.data(), 100, answers))
            found.emplace_back(line.data());
    }
    std::fclose(asked);
    translating.join();
    for (std::FILE* file : {out, answers, messages}) std::fclose(file);
    ::close(to[0]);
    REQUIRE(found.size() == 2);
    CHECK(found[0] == found[1]);
}

TEST_CASE("an input that is no text is refused at once, and a byte order mark is none of it") {
    CHECK_THROWS_WITH(translated("PK\3\4"), Contains("the input is a zip archive"));
    CHECK(translated("\xEF\xBB\xBF"
                     "abc\nabc\n",
                     few_words())
              .messages.empty());
}

TEST_CASE("a translator gets each line as it is, without its end") {
    std::vector<std::string> got;
    LineTranslator translator = letter_model();
    translator.encode = [&](const std::string& text) {
        got.push_back(text);
        return std::vector<std::int32_t>{4};
    };
    translated("\uFEFF a\u00A0e\u0301\r\n\uFEFFb\u200B\nc\r", few_words(), translator);
    CHECK(got == std::vector<std::string>{" a\u00A0e\u0301", "\uFEFFb\u200B", "c"});
}

TEST_CASE("a model of this book reads what a reader sees") {
    const std::vector<std::string> sentences{"ich mochte ein \u00E9", "ich mochte ein bier"};
    const auto subwords = [&] { return Subwords::train(sentences, 40, false); };
    const LineTranslator t =
        translator_of({Transformer(toy_like(), Random(1)), subwords(), subwords()});
    const auto expected = t.encode("ein \u00E9");
    CHECK(expected.size() > 1);
    for (const char* text :
         {"ein\u00A0\u00E9", " ein\u3000\u00E9", "\uFEFFein \u00E9", "ei\u00ADn \u00E9",
          "ein\u200B \uFE0F\u00E9", "ein e\u0301", "ein e\u2060\u0301"}) {
        CAPTURE(text);
        CHECK(t.encode(text) == expected);
    }
}

TEST_CASE("what a model says is one line, whatever is in it") {
    LineTranslator translator = letter_model();
    translator.decode = [](std::span<const std::int32_t>) { return std::string(" a\nb\t\x1b c "); };
    CHECK(translated("abc\nabc\n", few_words(), translator).lines ==
          std::vector<std::string>{"a b c", "a b c"});
}

TEST_CASE("an output that cannot be written is an error") {
    std::FILE* const full = std::fopen("/dev/full", "w");
    if (!full) return;
    std::istringstream in("abc\n");
    CHECK_THROWS_WITH(translate_lines(letter_model(), in, full, stderr, few_words()),
                      Contains("No space left"));
    std::fclose(full);
}
