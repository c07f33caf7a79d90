#pragma once

#include <string>
#include <vector>

#include "chapters/01_embedding/embedding.hpp"
#include "lib/linear.hpp"

namespace abh {
// [model]
/// The words of the toy's three English sentences.
inline const std::vector<std::string> english = {"I", "have", "a",    "good", "friend",
                                                 ".", "zero", "girl", "boy"};

/// A first model: it says which word comes next, knowing the word before and nothing else.
struct NextWords {
    Embedding words;  ///< [9, 2]
    Linear scores;    ///< from a word's row to a score for each word that may follow, [9, 2]

    explicit NextWords(Random random) : words(9, 2, {}, random), scores(2, 9, false, random) {}

    /// One step of gradient descent, on all places of the three sentences.
    /// @return  the mean loss before it
    Real step(Real eta);
    /// The probabilities of all words after the word `id`, `[1, 1, 9]`.
    Tensor probabilities(std::int32_t id) const;
    /// A sentence that begins with *I* and goes on with the likeliest word each time.
    std::string says() const;
};

}  // namespace abh
