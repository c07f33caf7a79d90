#pragma once

#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/search/beam_search.hpp"

namespace abh {
// [translator]
/// A model that translates text: how text and ids become each other, and the symbols around them.
struct LineTranslator {
    Transformer model;
    /// A source sentence's ids, without symbols.
    std::function<std::vector<std::int32_t>(const std::string&)> encode;
    /// The text of what the model said.
    std::function<std::string(std::span<const std::int32_t>)> decode;
    std::int32_t source_end = 0;        ///< stands behind every source
    std::int32_t start = 0, end = 0;    ///< of a target
    std::set<std::int32_t> never = {};  ///< what it must not say

    /// The symbols among the options.
    BeamOptions with_symbols(BeamOptions options) const {
        options.start = start;
        options.end = end;
        options.never = never;
        return options;
    }
    /// How many ids of a source fit, its end symbol not counted.
    Index max_source() const { return model.src_positions.max_len() - 1; }
};

/// Translates sentences, `batch` of like lengths at a time.
/// @param sources  ids without symbols; each has at least one, and at most `max_source()`
/// @return         the hypotheses of each sentence, in the order of the sources
std::vector<std::vector<Hypothesis>> translate_sentences(
    const LineTranslator& translator, std::span<const std::vector<std::int32_t>> sources,
    Index batch, const BeamOptions& options);
// [reader]
/// Lines of a file that may be a pipe or a terminal.
class LineReader {
public:
    /// @param file     a file descriptor; it stays open
    /// @param longest  bytes of a line; of a longer one no more than the first behind them is kept
    explicit LineReader(int file, std::size_t longest = TextLimits().line_bytes)
        : file_(file), longest_(longest) {}

    /// Reads the next line, without its end; false if there is none.
    /// @throws std::runtime_error if the file cannot be read, or is no text in UTF-8 by its first
    ///         bytes
    bool next(std::string& line);
    /// Whether `next` would return at once: a whole line is there, none that is too long, or the
    /// end. @throws std::runtime_error as `next` does
    bool ready();
    std::size_t longest() const { return longest_; }

private:
    void fill();

    int file_;
    std::size_t longest_, position_ = 0;  ///< of the next byte in the buffer
    std::string buffer_;
    bool begun_ = false, ended_ = false;
};
// [lines]
struct LineOptions {
    BeamOptions beam;
    Index batch = 32;          ///< sentences at a time
    Index window = 1024;       ///< lines read ahead at most, so that like lengths find each other
    bool n_best_list = false;  ///< write `n ||| text ||| score` for each hypothesis, n from 0
};

/// Translates line by line: for each line of `in` one of `out`, in order, or with `n_best_list` one
/// for each hypothesis. Lines that are there already are translated together; it does not wait for
/// more.
///
/// A line without words gives an empty one, and so does one that is not UTF-8, has a letter with a
/// thousand marks, more than a million bytes, or more pieces than the model has positions. For each
/// of them `messages` gets a line with its number.
/// @return  how many lines there were
/// @throws std::runtime_error if `out` cannot be written
Index translate_lines(const LineTranslator& translator, LineReader& in, std::FILE* out,
                      std::FILE* messages, const LineOptions& options);

}  // namespace abh
