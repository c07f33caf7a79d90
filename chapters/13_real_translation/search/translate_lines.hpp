#pragma once

#include <cstdio>
#include <functional>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/search/beam_search.hpp"

namespace abh {
// [translator]
/// A model that translates text, with the ways from text to ids and back, and its symbols.
struct LineTranslator {
    Transformer model;
    /// The ids of a source sentence in UTF-8, without symbols. Whether a mark, a blank or a
    /// spelling makes a difference is for the translator to say.
    std::function<std::vector<std::int32_t>(const std::string&)> encode;
    /// The text of the ids that the model said.
    std::function<std::string(std::span<const std::int32_t>)> decode;
    /// Symbols, of which `end` follows every source, too, what the model may not say, and the rest
    /// if nobody asks for something else.
    BeamOptions search = {};

    /// The options with this translator's symbols.
    BeamOptions with_symbols(BeamOptions options) const {
        options.start = search.start;
        options.end = search.end;
        options.never = search.never;
        return options;
    }
    /// The most ids of a source, without its end symbol.
    Index max_source() const { return model.src_positions.max_len() - 1; }
};

/// Translates sentences, `batch` of similar length at a time.
/// @param sources  ids without symbols, at most `max_source()` of them for each sentence
/// @return         the hypotheses of each sentence, in the order of the sources; of no ids, none
std::vector<std::vector<Hypothesis>> translate_sentences(
    const LineTranslator& translator, std::span<const std::vector<std::int32_t>> sources,
    Index batch, const BeamOptions& options);
// [lines]
struct LineOptions {
    BeamOptions beam;
    Index batch = 32;          ///< sentences at a time
    Index window = 1024;       ///< the most lines read ahead, to find similar lengths
    bool n_best_list = false;  ///< write `n ||| text ||| score` for each hypothesis, n from 0
};

/// Translates line by line: writes one line to `out` for each line of `in`, in order, or with
/// `n_best_list` one for each hypothesis. Lines that are available already are translated together,
/// but it does not wait for more.
///
/// The translation is empty if a line has no words, is not UTF-8, is longer than 2^20 bytes, has
/// more pieces than the model takes, or is refused by the translator. For each such line,
/// `messages` gets a line with its number.
/// @return  how many lines there were
/// @throws std::runtime_error if `in` cannot be read, or its first line shows that it is not text
/// in
///         UTF-8, or if `out` cannot be written
Index translate_lines(const LineTranslator& translator, std::istream& in, std::FILE* out,
                      std::FILE* messages, const LineOptions& options);

}  // namespace abh
