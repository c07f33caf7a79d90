// Apart from corpus.cpp, so that what reads no file of pairs needs no tables of Unicode.
#include "chapters/09_training/data/corpus.hpp"
#include "lib/io/files.hpp"
#include "lib/io/unicode.hpp"

namespace abh {
// [line]
namespace {

/// @throws std::invalid_argument naming the value that is wrong
SentencePair parse_line(const std::string& line, Index max_words) {
    const std::vector<std::string_view> columns = columns_of(line);  // further ones do not matter
    require(columns.size() >= 2, "no tab between source and target: {}", printable(line, 60));
    SentencePair pair{split_words(tidy(columns[0])), split_words(tidy(columns[1]))};
    require(!pair.source.empty(), "no source before the tab: {}", printable(line, 60));
    require(!pair.target.empty(), "no target after the tab: {}", printable(line, 60));
    for (const auto* sentence : {&pair.source, &pair.target})
        require(static_cast<Index>(sentence->size()) <= max_words,
                "a sentence of {} words, but the model takes at most {}: {}", sentence->size(),
                max_words, printable(line, 60));
    for (const std::string& word : pair.target)
        require(word != pad_word && word != start_word && word != end_word,
                "the word {} is reserved as a symbol and cannot occur in a target", word);
    return pair;
}

}  // namespace
// [file]
Corpus read_corpus(const std::filesystem::path& path, Index max_words) {
    Corpus corpus = empty_corpus();
    const std::string text = read_file(path);
    if (const std::string kind = foreign_kind(text); !kind.empty())
        throw std::runtime_error(fmt::format("{}: {}", path.string(), kind));
    Index number = 0;
    for (const std::string& line : lines_of(text, path)) {
        ++number;
        try {
            if (tidy(line).empty()) continue;
            corpus.train.push_back(parse_line(line, max_words));
        } catch (const std::invalid_argument& error) {
            throw std::runtime_error(fmt::format("{}:{}: {}", path.string(), number, error.what()));
        }
        add_words(corpus, corpus.train.back());
    }
    if (corpus.train.empty())
        throw std::runtime_error(path.string() + ": no pair of sentences in the file");
    return corpus;
}

}  // namespace abh
