#pragma once

#include <string>
#include <vector>

#include "chapters/09_training/model/checkpoint.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [translator]
using Words = std::vector<std::string>;

/// A trained model, and the options with which it translates.
struct GreedyTranslator {
    Checkpoint checkpoint;
    DecodingOptions options;

    GreedyTranslator(Checkpoint trained, Index max_words)
        : checkpoint(std::move(trained)),
          options{checkpoint.target.id(start_word), checkpoint.target.id(end_word), max_words} {}

    Ids ids(const Words& source) const { return source_ids(checkpoint.source, source); }
    Translation translate(const Words& source) const {
        return greedy_decode(checkpoint.model, ids(source), options, true);
    }
    Words words(const Translation& translation) const {
        Words result;
        for (std::int32_t id : translation.ids) result.push_back(checkpoint.target.word(id));
        return result;
    }
};

/// Translates the sources of all pairs in one batch, the shorter ones padded.
std::vector<Translation> translate_all(const GreedyTranslator& translator, const Corpus& corpus,
                                       const std::vector<SentencePair>& pairs);
/// Prints a line such as `你 认 识 两 个 老 师 吗 -> do you know two teachers ?`.
/// @return  whether the translation is the expected one
bool show(const GreedyTranslator& translator, const SentencePair& pair,
          const Translation& translation);
// [reports]
/// Prints every step: the chosen word, its probability, and the runner-up.
/// @param results  receives `NAME_source`, `NAME_said`, `NAME_answer`, `NAME_strongest`,
///                 and the array `NAME_cross`
void show_word_by_word(const GreedyTranslator& translator, const Words& source,
                       const std::string& name, Results& results);
/// Prints how the model translates a sentence that training never saw, and where it goes wrong.
void show_unseen(const GreedyTranslator& translator, const Corpus& corpus, Results& results);
/// Shows the common mistake of leaving dropout on, by ten translations. Each draw drops other
/// elements, as a new training step does.
void show_dropout(GreedyTranslator& translator, const Words& source, const std::string& name,
                  Results& results);

}  // namespace abh
