#pragma once

#include <span>
#include <vector>

#include "chapters/15_language_model/language_model.hpp"

namespace abh {
// [continuation]
/// A text that a model continues. Each layer keeps the keys and values of the words so far, so a
/// new word costs one row.
class Continuation {
public:
    /// @param model  must outlive this object
    /// @param room   for so many words; 0: for the model's context
    explicit Continuation(const Llama& model, Index room = 0);

    /// Takes the next word.
    /// @return the logits of the word after it, `[words]`
    /// @throws std::invalid_argument if there is no room
    Tensor next(std::int32_t word) { return next(std::span(&word, 1)); }
    /// Takes the next words, at least one; if they begin the text, all at once.
    Tensor next(std::span<const std::int32_t> words);

    Index length() const { return length_; }  ///< words so far
    Index room() const { return room_; }

private:
    const Llama& model_;
    Index room_;
    std::vector<KeyValues> layers_;
    Index length_ = 0;
};

}  // namespace abh
