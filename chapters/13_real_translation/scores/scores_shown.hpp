#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/io/results.hpp"

namespace abh {
// [shown]
/// Prints what the page about scores shows: scores by hand, those of spoiled translations, their
/// intervals, and how much depends on what is called a word.
void show_scores(Results& results, std::uint64_t seed);
// [spoil]
/// What is done to a word of a translation.
enum class Damage { left_out, swapped, replaced };

/// Sentences in which each word was damaged with probability `rate`: left out, swapped with the
/// next one, or replaced by any word of the sentences.
std::vector<std::string> spoil(std::span<const std::string> sentences, Damage damage, double rate,
                               std::uint64_t seed);

}  // namespace abh
