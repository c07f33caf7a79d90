// Once: pairs of sentences from files.
#include "chapters/13_real_translation/data/parallel_text.hpp"

#include <zlib.h>

#include <algorithm>
#include <map>
#include <set>

#include "chapters/13_real_translation/data/text.hpp"
#include "lib/io/files.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

std::string gzip(const std::string& text) {
    const Folder folder;
    const gzFile file = ::gzopen((folder / "packed").c_str(), "wb9");
    REQUIRE(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
            static_cast<int>(text.size()));
    ::gzclose(file);
    return read_file(folder / "packed");
}

using Pairs = std::vector<TextPair>;

}  // namespace

TEST_CASE("lines are the same from a plain file and from gzip") {
    const Folder folder;
    const auto file = folder / "lines";
    const std::string text =
        "\xEF\xBB\xBF"
        "eins\r\n\nzwei\t2\n我\nohne Schluss";
    const std::vector<std::string> expected{"eins", "", "zwei\t2", "我", "ohne Schluss"};
    put(file, text);
    CHECK(read_lines(file) == expected);
    put(file, gzip(text));
    CHECK(read_lines(file) == expected);
    put(file, gzip("eins\nzw") + gzip("ei\n"));  // two streams make one file
    CHECK(read_lines(file) == std::vector<std::string>{"eins", "zwei"});
    put(file, "");
    CHECK(read_lines(file).empty());
    put(file, "a\n");
    CHECK(read_lines(file).size() == 1);
}

TEST_CASE("pairs of two files joined into one are those of both, without marks between") {
    const Folder folder;
    const auto file = folder / "both.tsv";
    put(file, "\uFEFFa b\tc\n\uFEFFd\u200B\te\u00A0f\n");
    CHECK(read_pairs({file}) == Pairs{{"a b", "c"}, {"d", "e f"}});
}

TEST_CASE("a file that is no text in UTF-8 is named, and how to come to its text") {
    const Folder folder;
    const auto file = folder / "pairs";
    // as xz, bzip2, zstd, zip and others begin their files
    for (const auto& [content, is] :
         {std::pair{std::string("\xFD"
                                "7zXZ\0\0\4\xE6\xD6\xB4"
                                "F",
                                12),
                    "compressed with xz; decompress it (xz -d)"},
          {"BZh91AY&SY\x10\x39\xA5\x36", "compressed with bzip2; decompress it (bzip2 -d)"},
          {"\x28\xB5\x2F\xFD\x04\x58\x21", "compressed with zstd; decompress it (zstd -d)"},
          {gzip(gzip("a\n")), "compressed with gzip; decompress it (gzip -d)"},
          {"PK\3\4\x14\0\0\0\x08\0", "a zip archive or an office document; unpack it (unzip)"},
          {"%PDF-1.7\n", "a PDF document; extract its text (pdftotext)"},
          {"version https://git-lfs.github.com/spec/v1\n", "fetch the file itself (git lfs pull)"},
          {"\xFE\xFF\x62\x11", "text in UTF-16; convert it (iconv -f UTF-16 -t UTF-8)"},
          {gzip("\xFE\xFF\x62\x11"), "text in UTF-16; convert it"},
          {std::string("\xFF\xFE\0\0", 4), "text in UTF-32"},
          {std::string("H\0i\0.\0\n\0", 8), "text in UTF-16 or UTF-32, or not text at all"},
          {"gut\tgood\nsch\xF6n\tfine\n", ":2: byte 4 is 0xF6, which is not UTF-8"}}) {
        put(file, content);
        CHECK_THROWS_WITH(read_lines(file), Contains(file.string() + ":") && Contains(is));
    }
    for (const std::string& text : {std::string("PK"), std::string("BZh"), std::string("%PDF"),
                                    std::string(100, 'x') + '\0' + std::string(100, 'x')}) {
        put(file, text);
        CHECK(read_lines(file) == std::vector<std::string>{text});
    }
}

TEST_CASE(
    "a gzip file that is cut anywhere is an error; one that is altered never gives other lines") {
    const Folder folder;
    const auto file = folder / "cut.gz";
    std::string text;
    for (int i = 0; i < 50; ++i) text += std::to_string(i * i * 37) + "\tsquare\n";
    const std::string packed = gzip(text);
    put(file, packed);
    const std::vector<std::string> lines = read_lines(file);
    for (std::size_t size = 2; size < packed.size(); ++size) {
        put(file, packed.substr(0, size));
        CHECK_THROWS_WITH(read_lines(file), Contains("gzip file is truncated"));
    }
    std::size_t refused = 0;
    for (std::size_t i = packed.size() / 2; i < packed.size(); ++i) {
        std::string altered = packed;
        altered[i] = static_cast<char>(altered[i] ^ 0x20);
        put(file, altered);
        try {
            const auto same = read_lines(file) == lines;
            CHECK(same);  // a bit behind the end of the packed data means nothing
        } catch (const std::runtime_error& error) {
            ++refused;
        }
    }
    CHECK(refused > packed.size() / 2 - 4);
}

TEST_CASE("a small file that unpacks to a large one stops at a limit") {
    const Folder folder;
    const auto file = folder / "bomb.gz";
    put(file, gzip(std::string(3'000'000, 'x')));
    REQUIRE(std::filesystem::file_size(file) < 10'000);
    CHECK_THROWS_WITH(read_lines(file), Contains("bomb.gz:1: longer than 1048576 bytes"));
    put(file, gzip(std::string(1'000'000, '\n')));
    CHECK_THROWS_WITH(read_lines(file, {.file_bytes = 900'000}),
                      Contains("unpacks to more than 900000 bytes"));
    CHECK_THROWS_WITH(read_lines(file, {.lines = 999'999}), Contains("more than 999999 lines"));
    CHECK(read_lines(file, {.file_bytes = 1'000'000, .lines = 1'000'000}).size() == 1'000'000);
}

TEST_CASE("what cannot be read is named") {
    const Folder folder;
    CHECK_THROWS_WITH(read_lines(folder / "nothing.tsv"), Contains("nothing.tsv: No such"));
    CHECK_THROWS_WITH(read_lines(folder.path), Contains("directory"));
}

TEST_CASE("pairs come from the columns of one file, in any order") {
    const Folder folder;
    const auto file = folder / "pairs.tsv";
    put(file, "Hi.\t嗨。\tCC-BY #1\nGood  friend\t好 朋友\tCC-BY #2\n");
    CHECK(read_pairs({file}) == Pairs{{"Hi.", "嗨。"}, {"Good friend", "好 朋友"}});
    CHECK(read_pairs({file, "", 2, 1}) == Pairs{{"嗨。", "Hi."}, {"好 朋友", "Good friend"}});
    CHECK(read_pairs({file, "", 3, 2})[1] == TextPair{"CC-BY #2", "好 朋友"});
    CHECK_THROWS_WITH(read_pairs({file, "", 1, 4}),
                      Contains("pairs.tsv:1: 3 columns, but column 4 is wanted"));
    put(file, "a\tb\nohne Tab\n");
    CHECK_THROWS_WITH(read_pairs({file}),
                      Contains("pairs.tsv:2: 1 column, but column 2 is wanted"));
}

TEST_CASE("two files are read side by side and must have as many lines") {
    const Folder folder;
    put(folder / "x.de", "eins\nzwei\ndrei\n");
    put(folder / "x.en", gzip("one\ntwo\nthree"));
    const PairFiles files{folder / "x.de", folder / "x.en"};
    CHECK(read_pairs(files) == Pairs{{"eins", "one"}, {"zwei", "two"}, {"drei", "three"}});
    put(folder / "x.en", "one\ntwo\n");
    CHECK_THROWS_WITH(read_pairs(files), Contains("x.en: 2 lines, but") && Contains("x.de has 3"));
    put(folder / "x.en", "one\ntwo\nthree\nfour\n");
    CHECK_THROWS_WITH(read_pairs(files), Contains("x.en: 4 lines, but"));
}

TEST_CASE("a command line names one file or two") {
    CHECK(PairFiles::parse("a.tsv").source == "a.tsv");
    CHECK(PairFiles::parse("a.tsv").target.empty());
    CHECK(PairFiles::parse("a.de,a.en").target == "a.en");
    const PairFiles columns = PairFiles::parse("C:x.tsv:12:3");
    CHECK(columns.source == "C:x.tsv");
    CHECK(columns.source_column == 12);
    CHECK(columns.target_column == 3);
    CHECK(PairFiles::parse("a:1").source == "a:1");
    for (const char* wrong : {"", ",a", "a,", "a,b,c"})
        CHECK_THROWS_AS(PairFiles::parse(wrong), std::invalid_argument);
}

TEST_CASE("pairs without use are counted and left out") {
    const Folder folder;
    const auto file = folder / "pairs.tsv";
    put(file,
        "good\tgut\n\tonly right\nonly left\t \u3000\n\none two three four\tvier\n"
        "abcdefghijk\tzuviele\nab\tabcdefghi\nabcdefghi\tab\nab\tabcdefgh\n");
    CleanCounts counts;
    const Pairs pairs =
        read_pairs({file}, {.max_words = 3, .max_characters = 10, .max_ratio = 4}, &counts);
    CHECK(pairs == Pairs{{"good", "gut"}, {"ab", "abcdefgh"}});
    CHECK(counts.summary() == "2 pairs; left out: 3 empty, 2 too long, 2 of unequal length");
    CHECK(counts.read() == 9);
    read_pairs({file}, {}, &counts);
    CHECK(counts.read() == 18);  // counts of several files add up
    CHECK(CleanCounts{.kept = 5}.summary() == "5 pairs");
    CleanCounts of_every;
    CHECK(read_pairs({file}, CleanOptions::every(), &of_every).size() == 6);
    CHECK(of_every.summary() == "6 pairs; left out: 3 empty");
    std::string marks = "a";
    for (int i = 0; i <= 1000; ++i) marks += "\u0301";
    put(file, "a\tb\n" + marks + "\tb\na\t" + marks + "\n");
    CleanCounts of_marks;
    CHECK(read_pairs({file}, {}, &of_marks) == Pairs{{"a", "b"}});
    CHECK(of_marks.summary() == "1 pairs; left out: 2 too long");
    put(file, "\t\n");
    CHECK_THROWS_WITH(read_pairs({file}), Contains("no usable pair"));
}

namespace {

/// Pairs in groups of 1 to 4 that share sentences in a chain: a-b, c-b, c-d, ...
Pairs chains(Index n) {
    Pairs pairs;
    for (Index i = 0; static_cast<Index>(pairs.size()) < n; ++i)
        for (Index j = 0; j <= i % 4; ++j)
            pairs.push_back(
                {fmt::format("s{}x{}", i, (j + 1) / 2), fmt::format("t{}x{}", i, j / 2)});
    return pairs;
}

}  // namespace

TEST_CASE("no sentence stands in two parts of a split, nor by way of others") {
    const ParallelText split = split_pairs(chains(500), 50, 60);
    CHECK(split.dev.size() >= 50);
    CHECK(split.dev.size() < 54);
    CHECK(split.test.size() >= 60);
    CHECK(split.test.size() < 64);
    CHECK(split.train.size() + split.dev.size() + split.test.size() == chains(500).size());
    CHECK(count_leaks(split.train, split.dev) == 0);
    CHECK(count_leaks(split.train, split.test) == 0);
    CHECK(count_leaks(split.dev, split.test) == 0);
    const auto group = [](const TextPair& pair) {
        return pair.source.substr(0, pair.source.find('x'));
    };
    std::map<std::string, std::set<const Pairs*>> parts;
    for (const Pairs* part : {&split.train, &split.dev, &split.test})
        for (const TextPair& pair : *part) parts[group(pair)].insert(part);
    for (const auto& [name, found] : parts) CHECK(found.size() == 1);
}

TEST_CASE("a leak is a sentence of either language, in any case and punctuation") {
    const Pairs train{{"Hi.", "Hallo."}, {"Go on.", "Weiter!"}, {"?", "!"}};
    CHECK(count_leaks(train, Pairs{{"Oh.", "Ach."}, {"Hi Tom.", "Hallo Tom."}}) == 0);
    CHECK(count_leaks(train, Pairs{{"HI!", "Na?"}, {"Next.", "weiter"}, {"hi", "hallo"}}) == 3);
    CHECK(count_leaks(train, Pairs{{"?", "Was?"}, {"...", "Was"}}) == 1);
    CHECK(count_leaks({}, train) == 0);
}

TEST_CASE("a split depends on pairs and seed, not on the order of the pairs") {
    Pairs pairs = chains(300);
    const auto sorted = [](Pairs part) {
        std::ranges::sort(part, {}, [](const TextPair& p) { return p.source + p.target; });
        return part;
    };
    const ParallelText a = split_pairs(pairs, 30, 30, 5), again = split_pairs(pairs, 30, 30, 5);
    CHECK(a.test == again.test);
    CHECK(a.train == again.train);
    std::ranges::reverse(pairs);
    const ParallelText b = split_pairs(pairs, 30, 30, 5);
    CHECK(sorted(a.test) == sorted(b.test));
    CHECK(sorted(a.dev) == sorted(b.dev));
    CHECK(sorted(split_pairs(pairs, 30, 30, 6).test) != sorted(a.test));
}

TEST_CASE("pairs that all hang together cannot be split") {
    Pairs pairs;
    for (int i = 0; i < 100; ++i) pairs.push_back({"the same", fmt::format("t{}", i)});
    CHECK_THROWS_AS(split_pairs(pairs, 1, 1), std::invalid_argument);
    CHECK_THROWS_AS(split_pairs({}, 1, 1), std::invalid_argument);
    CHECK_THROWS_AS(split_pairs(chains(50), 25, 25), std::invalid_argument);  // none to train on
}

TEST_CASE("the sentences that come with the book are split without a leak") {
    CleanCounts counts;
    const ParallelText text = tatoeba(&counts);
    CHECK(counts.kept > 20'000);
    CHECK(static_cast<Index>(text.train.size() + text.dev.size() + text.test.size()) ==
          counts.kept);
    CHECK(text.dev.size() >= 1000);
    CHECK(text.dev.size() <= 1010);
    CHECK(text.test.size() >= 1000);
    CHECK(text.test.size() <= 1010);
    CHECK(count_leaks(text.train, text.dev) == 0);
    CHECK(count_leaks(text.train, text.test) == 0);
    CHECK(count_leaks(text.dev, text.test) == 0);
    for (const Pairs* part : {&text.train, &text.dev, &text.test})
        for (const TextPair& pair : *part)
            if (tidy(pair.source) != pair.source || tidy(pair.target) != pair.target)
                FAIL(pair.source + " is not tidy");
}

TEST_CASE("each line of the shipped data keeps its attribution") {
    const std::vector<std::string> lines = read_lines(tatoeba_file());
    CHECK(lines.size() > 20'000);
    for (const std::string& line : lines)
        if (!line.substr(line.rfind('\t') + 1)
                 .starts_with("CC-BY 2.0 (France) Attribution: tatoeba.org #"))
            FAIL(line);
}
