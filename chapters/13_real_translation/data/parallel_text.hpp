#pragma once

#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lib/io/unicode.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [pairs]
/// A sentence and its translation: UTF-8 in NFC, no control characters, single spaces.
struct TextPair {
    std::string source, target;
    bool operator==(const TextPair&) const = default;
};

/// The sentences of one side.
std::vector<std::string> sources(std::span<const TextPair> pairs);
std::vector<std::string> targets(std::span<const TextPair> pairs);
/// All sources, then all targets, from which a vocabulary for both languages is learned.
std::vector<std::string> both_sides(std::span<const TextPair> pairs);
// [lines]
/// The lines of a file, plain or gzip, as `lines_of` finds them.
/// @throws std::runtime_error as `lines_of` does, and naming the file if it cannot be read, is an
///         archive or in another encoding, is damaged or truncated gzip, or is too large
std::vector<std::string> read_lines(const std::filesystem::path& path,
                                    const TextLimits& limits = {});
// [cleaning]
/// The limits that pairs must respect to be used for training.
struct CleanOptions {
    Index max_words = 100, max_characters = 500;  ///< of a sentence
    double max_ratio = 6;  ///< of the longer sentence to the shorter one, in bytes

    /// Every pair with two sentences, for pairs that are not trained on: a score is of all of them.
    static CleanOptions every() {
        constexpr Index most = std::numeric_limits<Index>::max();
        return {most, most, std::numeric_limits<double>::infinity()};
    }
};

/// How many pairs were kept, and how many were left out for which reason.
struct CleanCounts {
    Index kept = 0, empty = 0, too_long = 0, bad_ratio = 0;
    Index read() const { return kept + empty + too_long + bad_ratio; }
    /// In one line, such as "29371 pairs; left out: 2 empty".
    std::string summary() const;
};

/// Where the pairs are: line by line in two files, or in the tab-separated columns of one.
struct PairFiles {
    std::filesystem::path source, target = {};  ///< no target: columns of `source`
    Index source_column = 1, target_column = 2;

    /// "FILE", "FILE:SOURCE_COLUMN:TARGET_COLUMN" or "SOURCE,TARGET", as on a command line.
    /// @throws std::invalid_argument if it is none of these
    static PairFiles parse(const std::string& text);
};

/// The pairs of a file, or of two, that respect the limits.
/// @param counts  if given, the pairs kept and left out are added to it
/// @throws std::runtime_error as `read_lines` does, and if a line has too few columns, two files
///         have different numbers of lines, or no pair is left
std::vector<TextPair> read_pairs(const PairFiles& files, const CleanOptions& options = {},
                                 CleanCounts* counts = nullptr, const TextLimits& limits = {});
// [split]
/// Pairs to train on, to choose by (development), and to report on at the very end.
struct ParallelText {
    std::vector<TextPair> train, dev, test;
};

/// Splits pairs so that no sentence of either language is in two parts, not even with different
/// case or punctuation. Which pairs go where depends on the pairs and the seed alone, not on their
/// order, but within a part they keep it.
/// @param n_dev, n_test  pairs wanted; a part gets a few more if connected pairs must stay together
/// @throws std::invalid_argument if there are not enough pairs
ParallelText split_pairs(const std::vector<TextPair>& pairs, Index n_dev, Index n_test,
                         std::uint64_t seed = 1);
/// How many pairs of `held_out` share a sentence with `train`, in either language. Case, spaces and
/// punctuation make no difference.
Index count_leaks(std::span<const TextPair> train, std::span<const TextPair> held_out);
// [tatoeba]
/// The file of Chinese-English pairs that comes with the book: English, Chinese, attribution.
std::filesystem::path tatoeba_file();
/// Its pairs, from Chinese to English, cleaned and split in the same way on every machine.
/// @param counts  if given, the pairs kept and left out are added to it
/// @throws std::runtime_error naming the file if it cannot be read
ParallelText tatoeba(CleanCounts* counts = nullptr);

}  // namespace abh
