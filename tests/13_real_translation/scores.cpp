// Once: BLEU and its intervals, against what sacrebleu says (golden/scores.json).
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "chapters/13_real_translation/commands.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "lib/io/files.hpp"
#include "tests/support.hpp"

using namespace abh;
using nlohmann::json;

namespace {

using Lines = std::vector<std::string>;

const json& golden() {
    static const json content = json::parse(read_file(ABH_GOLDEN "/scores.json"));
    return content;
}

Lines lines(const char* corpus, const char* side) {
    return golden().at("corpora").at(corpus).at(side).get<Lines>();
}

/// A file's text.
std::string join_lines(const Lines& texts) {
    std::string all;
    for (const std::string& line : texts) all += line + "\n";
    return all;
}

/// A printed score without what names the program.
std::string without_version(const std::string& printed) {
    const std::size_t at = printed.find("|version:");
    return printed.substr(0, at) + printed.substr(printed.find(" = ", at));
}

double bleu_of(const std::string& hypothesis, const std::string& reference,
               const BleuOptions& options = {}) {
    return bleu(Lines{hypothesis}, Lines{reference}, options);
}

}  // namespace

// Against sacrebleu ------------------------------------------------------------

TEST_CASE("every sentence has the counts that sacrebleu finds, and every corpus its score") {
    Index compared = 0;
    for (const auto& [corpus, entries] : golden().at("scores").items())
        for (const json& entry : entries) {
            const json& o = entry.at("options");
            const BleuOptions options{.tokenization = o.value("tokenize", "13a"),
                                      .lowercase = o.value("lowercase", false),
                                      .smooth = o.value("smooth_method", "exp") == "exp"};
            const Lines said = lines(corpus.c_str(), "hypotheses"),
                        wanted = lines(corpus.c_str(), "references");
            CAPTURE(corpus, entry.at("printed").get<std::string>());
            const std::vector<Counts> counts = count_sentences(said, wanted, options);
            for (std::size_t i = 0; i < said.size(); ++i) {
                CAPTURE(said[i], wanted[i]);
                CHECK(counts[i] == entry.at("counts")[i].get<Counts>());
            }
            const Counts sums = sum_of(counts);
            // sums of whole numbers are exact; a few logarithms and divisions are not
            CHECK(bleu_parts(sums, options).value ==
                  Approx(entry.at("value").get<double>()).margin(1e-9));
            CHECK(without_version(score_line(sums, options)) ==
                  without_version(entry.at("printed")));
            ++compared;
        }
    CHECK(compared == 108);
}

TEST_CASE("intervals and the paired test are those of sacrebleu as far as chance allows") {
    const Lines wanted = lines("english", "references"), said = lines("english", "hypotheses"),
                others = lines("near english", "hypotheses");
    const json& theirs = golden().at("intervals");
    const std::vector<Counts> a = count_sentences(said, wanted),
                              b = count_sentences(others, wanted);
    const Interval interval = interval_of(bootstrap(a, {}, 1, 4000));
    const double p = p_value(a, b, {}, 1, 4000);
    CAPTURE(interval.mean, interval.half_width, p);
    // the half width is near two deviations of a sample. A mean of 4,000 has a 63rd of a sample's
    // deviation, a quantile at 2.5 % some three times that; here are two of each kind
    const double half = theirs.at("half_width").get<double>(), deviation = half / 2;
    CHECK(std::abs(interval.mean - theirs.at("mean").get<double>()) < 0.09 * deviation);
    CHECK(std::abs(interval.half_width - half) < 0.25 * deviation);
    const double their_p = theirs.at("p").get<double>();
    CHECK(std::abs(p - their_p) < 5 * std::sqrt(2 * (their_p + 1e-4) / 4000));
}

// Words ------------------------------------------------------------

TEST_CASE("signs are words of their own, except within numbers and words") {
    const auto words = [](const char* line, const char* t = "13a") { return score_words(line, t); };
    CHECK(words("Well, it's 1,234.50 (3-4).") ==
          Lines{"Well", ",", "it's", "1,234.50", "(", "3", "-", "4", ")", "."});
    CHECK(words("well-known") == Lines{"well-known"});
    CHECK(words("&quot;A&amp;B&quot;") == Lines{"\"", "A", "&", "B", "\""});
    CHECK(words("我有3个。", "zh") == Lines{"我", "有", "3", "个", "。"});
    CHECK(words("iPhone 好", "zh") == Lines{"iPhone", "好"});
    CHECK(words("a 好!", "char") == Lines{"a", "好", "!"});
    CHECK(words(" a,  b\t. ", "none") == Lines{"a,", "b", "."});
    CHECK(words("a\u3000b\u00a0c", "none") == Lines{"a", "b", "c"});
    for (const char* t : {"13a", "zh", "char", "none"}) {
        CHECK(words("", t).empty());
        CHECK(words(" \t", t).empty());
    }
    CHECK_THROWS_WITH(words("", "intl\n"),
                      "tokenization intl\\x0A: expected 13a, zh, char or none");
    CHECK_THROWS_AS(words("\xff"), std::invalid_argument);
}

// BLEU ------------------------------------------------------------

TEST_CASE("a short translation pays the brevity penalty, a long one does not") {
    const std::string wanted = "one two three four five six seven eight";
    CHECK(bleu_of("one two three four", wanted) == Approx(100 * std::exp(1 - 8.0 / 4)));
    CHECK(bleu_of(wanted, "one two three four") ==
          Approx(100 * std::pow(4.0 / 8 * 3 / 7 * 2 / 6 * 1 / 5, 0.25)));
    CHECK(bleu_of(wanted, wanted) == Approx(100));
}

TEST_CASE("the score of a corpus is not the mean of its sentences' scores") {
    const Lines said{"a b c d e f g h", "x y"}, wanted{"a b c d e f g h", "y x"};
    const double mean = (bleu_of(said[0], wanted[0]) + bleu_of(said[1], wanted[1])) / 2;
    CHECK(bleu(said, wanted) == Approx(100 * std::pow(7.0 / 8, 0.25)));
    CHECK(mean == Approx(50));
}

TEST_CASE("without smoothing one order without a match makes the score zero") {
    const std::string said = "I have a good friend .", wanted = "I have a very good friend .";
    CHECK(bleu_of(said, wanted, {.smooth = false}) == 0);
    CHECK(bleu_of(said, wanted) ==
          Approx(100 * std::exp(1 - 7.0 / 6) * std::pow(1.0 * 4 / 5 * 2 / 4 * (0.5 / 3), 0.25)));
    CHECK(bleu_of("Hi .", "Hi .") == 0);  // too short for three and four words
}

TEST_CASE("the same translations have other scores as pieces than as text") {
    // one wrong word in nine; cut into pieces, the long right words give more right n-grams
    const Lines wanted{"The extraordinary neighbors were outstandingly good , my friend"},
        said{"The extraordinary neighbors were outstandingly bad , my friend"},
        pieces_wanted{
            "▁The ▁extra ordinary ▁neighbor s ▁were ▁out standing ly ▁good ▁, ▁my ▁friend"},
        pieces_said{"▁The ▁extra ordinary ▁neighbor s ▁were ▁out standing ly ▁bad ▁, ▁my ▁friend"};
    const BleuOptions spaces{.tokenization = "none"};
    const double of_text = bleu(said, wanted), of_pieces = bleu(pieces_said, pieces_wanted, spaces);
    CHECK(of_text == Approx(100 * std::pow(8.0 / 9 * 6 / 8 * 4 / 7 * 2 / 6, 0.25)));
    CHECK(of_pieces == Approx(100 * std::pow(12.0 / 13 * 10 / 12 * 8 / 11 * 6 / 10, 0.25)));
    CHECK(of_pieces > of_text + 15);
}

TEST_CASE("what is called a word changes the score of the same translation") {
    const std::string said = "我在城里有一个好朋友。", wanted = "我在城里有一个很好的朋友。";
    CHECK(bleu_of(said, wanted) == 0);  // one word without a space: wrong
    CHECK(bleu_of(said, wanted, {.tokenization = "zh"}) > 40);
    CHECK(bleu_of("A Good Friend Of Mine", "a good friend of mine") == 0);
    CHECK(bleu_of("A Good Friend Of Mine", "a good friend of mine", {.lowercase = true}) ==
          Approx(100));
}

TEST_CASE("a score says how it was made") {
    const Counts counts = count_sentences(Lines{"a b c d"}, Lines{"A b c d e"}).front();
    CHECK(score_line(counts, {}, "bs:9|seed:1", " (μ = 7)") ==
          "BLEU|nrefs:1|bs:9|seed:1|case:mixed|eff:no|tok:13a|smooth:exp|"
          "version:attention-by-hand.1 = 46.31 (μ = 7) 75.0/66.7/50.0/50.0 (BP = 0.779 ratio = "
          "0.800 hyp_len = 4 ref_len = 5)");
}

TEST_CASE("texts of unlike length, or without a sentence, have no score") {
    CHECK_THROWS_WITH(count_sentences(Lines{"a"}, Lines{"a", "b"}),
                      "BLEU: 1 hypotheses for 2 references");
    CHECK_THROWS_WITH(count_sentences(Lines{}, Lines{}), "BLEU: there is no sentence to score");
    CHECK_THROWS_AS(count_sentences(Lines{"\xff"}, Lines{"a"}), std::invalid_argument);
}

// Intervals ------------------------------------------------------------

TEST_CASE("samples are the same for the same seed, and others for another") {
    const Lines wanted = lines("english", "references"), said = lines("english", "hypotheses");
    const std::vector<Counts> counts = count_sentences(said, wanted);
    const std::vector<double> a = bootstrap(counts, {}, 1, 20);
    CHECK(a == bootstrap(counts, {}, 1, 20));
    CHECK(a != bootstrap(counts, {}, 2, 20));
}

TEST_CASE("an interval holds 95 of 100 scores") {
    std::vector<double> scores(1000);
    std::iota(scores.begin(), scores.end(), 0.0);
    std::reverse(scores.begin(), scores.end());
    const Interval interval = interval_of(scores);
    CHECK(interval.mean == Approx(499.5));
    CHECK(interval.half_width == (974.0 - 25.0) / 2);
    CHECK(interval_of({3}).half_width == 0);
}

TEST_CASE("a system compared with itself does not differ, a much better one does") {
    const Lines wanted = lines("english", "references"), said = lines("english", "hypotheses");
    const std::vector<Counts> counts = count_sentences(said, wanted),
                              right = count_sentences(wanted, wanted);
    CHECK(p_value(counts, counts, {}, 1) == 1);
    CHECK(p_value(counts, right, {}, 1) == Approx(1.0 / 1001));
}

// The command ------------------------------------------------------------

namespace {

/// What the command records, called with these options.
json recorded(std::vector<std::string> options) {
    const Folder folder;
    Options program("A program with this command.");
    ScoreCommand command(program);
    options.insert(options.begin(), "score");
    const auto help = program.read("program", options);
    REQUIRE_FALSE(help.has_value());
    REQUIRE(command.chosen());
    Results results(folder.path);
    command.run(results, 1);
    results.save();
    return json::parse(read_file(folder / "results.json"));
}

}  // namespace

TEST_CASE("the score command compares files line by line") {
    const Folder folder;
    const Lines wanted{"I have a good friend .", "", "It was 3.5 ."},
        said{"I have a good old friend .", "Well .", "It is 3.5 ."};
    const std::string reference = folder.put("r", join_lines(wanted)).string(),
                      hypothesis = folder.put("h", join_lines(said)).string();
    const json one = recorded({"--reference", reference, "--hypothesis", hypothesis});
    CHECK(one["BLEU"]["value"] == bleu(said, wanted));
    CHECK(one["BLEU_half_width"]["value"] > 0.0);

    const json small = recorded({"--reference", reference, "--hypothesis", hypothesis, "--tokenize",
                                 "char", "--lowercase"});
    const BleuOptions options{.tokenization = "char", .lowercase = true};
    CHECK(small["BLEU"]["value"] == bleu(said, wanted, options));

    const json two =
        recorded({"--reference", reference, "--hypothesis", hypothesis, "--other", reference});
    CHECK(two["BLEU"]["value"] == bleu(said, wanted));
    CHECK(two["BLEU_other"]["value"] == bleu(wanted, wanted));
    CHECK(two["BLEU_p"]["value"] > 0.0);
}

TEST_CASE("the score command scores what a reader sees") {
    const Folder folder;
    const std::string reference = folder.put("r", "an \u00E9 is here\nb b b b\n").string();
    const auto value_of = [&](const std::string& content) -> double {
        const std::string file = folder.put("h", content).string();
        return recorded({"--reference", reference, "--hypothesis", file})["BLEU"]["value"];
    };
    CHECK(value_of("\uFEFFan\u00A0e\u0301 is\u3000he\u00ADre\n\uFEFFb b\u200B b b\n") ==
          Approx(100));
    CHECK(value_of("an e is here\nb b b b\n") < 99);
}

TEST_CASE("the score command names the file that does not fit") {
    const Folder folder;
    const std::string two = folder.put("two", "a\nb\n").string(),
                      one = folder.put("one", "a\n").string(),
                      bytes = folder.put("bytes", "a\nb\xff\n").string();
    CHECK_THROWS_WITH(
        recorded({"--reference", two, "--hypothesis", one}),
        one + " has 1 lines, " + two + " has 2: line i of one must translate line i of the other");
    CHECK_THROWS_WITH(recorded({"--reference", two, "--hypothesis", bytes}),
                      Contains(bytes + ":2: "));
    CHECK_THROWS_AS(recorded({"--reference", two, "--tokenize", "intl"}), std::invalid_argument);
}
