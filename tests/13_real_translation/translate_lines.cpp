// Once: translating line by line.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "chapters/13_real_translation/translate_command.hpp"
#include "lib/io/unicode.hpp"
#include "lib/way.hpp"
#include "tests/catch.hpp"
#include "tests/support.hpp"
#include "tests/transformers.hpp"

using namespace abh;

namespace {

/// A model with random weights that reads letters a to h as 4 to 11 and says such letters.
LineTranslator letter_model(std::uint64_t seed = 1) {
    TransformerOptions o = toy_like();
    o.src_words = o.tgt_words = 12;
    o.output_bias = true;
    Transformer model(o, Random(seed));
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
            .source_end = 3,
            .start = 2,
            .end = 3,
            .never = {0, 2}};
}

/// Both ends of a pipe.
struct Pipe {
    int read_end = -1, write_end = -1;
    Pipe() {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        read_end = ends[0];
        write_end = ends[1];
    }
    ~Pipe() {
        ::close(read_end);
        if (write_end >= 0) ::close(write_end);
    }
    void put(const std::string& text) const {
        REQUIRE(::write(write_end, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
    void end() {
        ::close(write_end);
        write_end = -1;
    }
};

/// What a file of this content becomes.
struct Found {
    std::vector<std::string> lines;
    std::string messages;
    Index count;
};

std::string content(std::FILE* file) {
    std::rewind(file);
    std::string text(1 << 16, '\0');
    std::string all;
    for (std::size_t n = 0; (n = std::fread(text.data(), 1, text.size(), file)) > 0;)
        all.append(text, 0, n);
    return all;
}

Found translated(const std::string& input, const LineOptions& options = {},
                 const LineTranslator& translator = letter_model()) {
    const ScopedWay fast(Way::fast);  // how lines are read does not depend on the way
    const Folder folder;
    const int in = ::open(folder.put("in", input).c_str(), O_RDONLY);
    std::FILE *out = std::tmpfile(), *messages = std::tmpfile();
    LineReader reader(in);
    Found found;
    found.count = translate_lines(translator, reader, out, messages, options);
    std::string text = content(out);
    found.messages = content(messages);
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        REQUIRE(end != std::string::npos);
        found.lines.push_back(text.substr(0, end));
        text.erase(0, end + 1);
    }
    std::fclose(out);
    std::fclose(messages);
    ::close(in);
    return found;
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
    for (const std::size_t i : {0u, 1u}) {
        CHECK(found[0][i].ids == expected[0][i].ids);
        CHECK(found[0][i].score == expected[0][i].score);
    }
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

TEST_CASE("a letter with too many marks costs its line, and no other") {
    std::string marks = "a";
    for (int i = 0; i <= 1000; ++i) marks += "\u0301";
    const Found found = translated("abc\n" + marks + "\nabc\n", few_words());
    REQUIRE(found.lines.size() == 3);
    CHECK(found.lines[1].empty());
    CHECK(found.lines[2] == found.lines[0]);
    CHECK(found.messages ==
          "line 2: a letter has more than 1000 marks; its translation is left empty\n");
}

TEST_CASE("a sentence that is too long costs its line, and no other") {
    const std::string fits(19, 'a');
    const Found found = translated("abc\n" + fits + "a\n" + fits + "\nabc\n", few_words());
    REQUIRE(found.lines.size() == 4);
    CHECK(found.lines[0] == found.lines[3]);
    CHECK(found.lines[1].empty());
    CHECK_FALSE(found.lines[2].empty());
    CHECK(found.messages ==
          "line 2: 20 pieces, but the model takes at most 19; its translation is left empty\n");
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
    Pipe in, out;
    std::FILE* const writer = ::fdopen(::dup(out.write_end), "w");
    std::FILE* const messages = std::tmpfile();
    std::thread translating([&] {
        LineReader reader(in.read_end);
        translate_lines(translator, reader, writer, messages, few_words());
    });
    const auto wait_for_line = [&] {
        std::string line;
        for (char c = 0; c != '\n'; line += c) {
            pollfd wait{out.read_end, POLLIN, 0};
            if (::poll(&wait, 1, 60000) != 1 || ::read(out.read_end, &c, 1) != 1)
                return std::string("nothing came");
        }
        return line;
    };
    in.put("abc\n");
    const std::string first = wait_for_line();
    in.put("abc\n");
    const std::string second = wait_for_line();
    in.end();
    translating.join();
    std::fclose(writer);
    std::fclose(messages);
    CHECK(first != "nothing came");
    CHECK(first == second);
}

TEST_CASE("a line is ready when its end is there, and a part of one is not waited for") {
    Pipe pipe;
    LineReader reader(pipe.read_end, 10);
    std::string line;
    CHECK_FALSE(reader.ready());
    pipe.put("one\ntw");
    CHECK(reader.ready());
    CHECK((reader.next(line) && line == "one"));
    CHECK_FALSE(reader.ready());
    pipe.put("o\n");
    CHECK(reader.ready());
    CHECK((reader.next(line) && line == "two"));
    pipe.put("0123456789xyz");
    CHECK_FALSE(reader.ready());
    pipe.put("\nlast");
    CHECK_FALSE(reader.ready());  // too long to be kept until its end is there
    CHECK((reader.next(line) && line == "0123456789x"));
    CHECK_FALSE(reader.ready());
    pipe.end();
    CHECK(reader.ready());
    CHECK((reader.next(line) && line == "last"));
    CHECK(reader.ready());
    CHECK_FALSE(reader.next(line));
    LineReader closed(-1);
    CHECK_THROWS_WITH(closed.next(line), Contains("cannot read the input"));
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

TEST_CASE("a line of more than 2^20 bytes is not translated") {
    const std::string line((1 << 20) + 1, 'x');  // says nothing to this model
    const Found found = translated(line + "\nabc\n" + line.substr(1) + "\n", few_words());
    REQUIRE(found.lines.size() == 3);
    CHECK(found.lines[0].empty());
    CHECK_FALSE(found.lines[1].empty());
    CHECK(found.messages ==
          "line 1: longer than 1048576 bytes; its translation is left empty\n"
          "line 3: no words; its translation is left empty\n");
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
    const Folder folder;
    const int in = ::open(folder.put("in", "abc\n").c_str(), O_RDONLY);
    LineReader reader(in);
    CHECK_THROWS_WITH(translate_lines(letter_model(), reader, full, stderr, few_words()),
                      Contains("No space left"));
    std::fclose(full);
    ::close(in);
}
