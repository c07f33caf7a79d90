#pragma once

#include <filesystem>
#include <string>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/15_language_model/language_model.hpp"
#include "chapters/15_language_model/sampling.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [trained]
/// A stack of today, trained on the grammar's lines, every word counting, and its words.
struct Trained {
    Vocabulary words;
    Llama model;
};
/// The model of this seed, which is trained if its checkpoint is missing.
/// @param smoothing  of the loss; 0 for a model whose probabilities shall be the text's
Trained trained(std::uint64_t seed, Real smoothing = 0);
// [options]
struct SampleOptions {
    std::string prompt = "我 有";
    SamplingOptions choice = {};
    Index times = 5;                       ///< how many continuations
    Index words = 40;                      ///< the most words of one
    Index top = 0;                         ///< the likeliest next words to print instead
    std::filesystem::path attention = {};  ///< if any, where the first text's map is drawn
};
// [sample]
/// Continues a text by a model that was trained on the grammar's lines, every word counting, and
/// that is trained first if its checkpoint is missing.
/// @throws std::invalid_argument for a prompt that is empty, too long or not of the model's words
void show_samples(const SampleOptions& options, std::uint64_t seed, Results& results);
/// How many of the lines that such models write are the grammar's, by how words are chosen.
void show_choices(Index seeds, Results& results);

}  // namespace abh
