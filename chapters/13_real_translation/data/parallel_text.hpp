#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

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
/// All sources, then all targets: what a vocabulary of both languages learns from.
std::vector<std::string> both_sides(std::span<const TextPair> pairs);
// [lines]
/// What a text may hold, unpacked.
struct TextLimits {
    std::size_t line_bytes = std::size_t{1} << 20, file_bytes = std::size_t{1} << 28,
                lines = 4'000'000;
};

/// The lines of a file, plain or gzip, without a byte order mark and without their ends.
/// @throws std::runtime_error naming the file, and the line where there is one: if it cannot be
///         read, is an archive or in another encoding, a gzip stream is damaged or cut, a line is
///         not UTF-8, or a limit is exceeded
std::vector<std::string> read_lines(const std::filesystem::path& path,
                                    const TextLimits& limits = {});
// [cleaning]
/// Which pairs are of no use for training.
struct CleanOptions {
    Index max_words = 100, max_characters = 500;  ///< of a sentence
    double max_ratio = 6;  ///< of the longer sentence to the shorter one, in bytes
};

/// How many pairs were read, and why some were left out.
struct CleanCounts {
    Index kept = 0, empty = 0, too_long = 0, bad_ratio = 0, too_many_marks = 0;
    Index read() const { return kept + empty + too_long + bad_ratio + too_many_marks; }
    /// In one line, for instance "29371 pairs; left out: 2 empty, 1 too long, 3 of unlike length".
    std::string summary() const;
};

/// Where pairs stand: in two files line by line, or in the columns of one, which tabs separate.
struct PairFiles {
    std::filesystem::path source, target = {};  ///< no target: columns of `source`
    Index source_column = 1, target_column = 2;

    /// "FILE", "FILE:SOURCE_COLUMN:TARGET_COLUMN" or "SOURCE,TARGET", as on a command line.
    /// @throws std::invalid_argument if it is none of these
    static PairFiles parse(const std::string& text);
};

/// The pairs of a file, or of two, that are fit for training.
/// @param counts  if given, what was kept and left out is added to it
/// @throws std::runtime_error as `read_lines` does; if a line has too few columns; if two files
///         have different numbers of lines; if no pair is left
std::vector<TextPair> read_pairs(const PairFiles& files, const CleanOptions& options = {},
                                 CleanCounts* counts = nullptr, const TextLimits& limits = {});
// [split]
/// Pairs to train on, to choose by (development), and to report on at the very end.
struct ParallelText {
    std::vector<TextPair> train, dev, test;
};

/// Splits pairs so that no sentence of either language stands in two parts, not even in another
/// case or with other punctuation. Which pairs go where depends on them and the seed alone, and not
/// on their order; within a part they keep it.
/// @param n_dev, n_test  pairs wanted; a part gets a few more where sentences hang together
/// @throws std::invalid_argument if there are not pairs enough
ParallelText split_pairs(const std::vector<TextPair>& pairs, Index n_dev, Index n_test,
                         std::uint64_t seed = 1);
/// How many pairs of `held_out` share a sentence with `train`, in either language. Case, spaces and
/// punctuation make no difference.
Index count_leaks(std::span<const TextPair> train, std::span<const TextPair> held_out);
// [tatoeba]
/// The file of Chinese-English pairs that comes with the book: English, Chinese, attribution.
std::filesystem::path tatoeba_file();
/// Its pairs from Chinese to English, cleaned and split: the same on every machine.
/// @param counts  if given, what was kept and left out is added to it
/// @throws std::runtime_error naming the file if it cannot be read
ParallelText tatoeba(CleanCounts* counts = nullptr);

}  // namespace abh
