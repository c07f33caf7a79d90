#pragma once

#include <vector>

#include "chapters/15_language_model/language_model.hpp"

namespace abh {
// [continuation]
/// A text that a model continues. Each layer keeps the keys and values of the words so far, so a
/// new word costs one row.
class Continuation {
public:
    /// @param model  must outlive this object
    explicit Continuation(const Llama& model);

    /// Takes the next word.
    /// @return the logits of the word after it, `[words]`
    /// @throws std::invalid_argument if the model's context is full
    Tensor next(std::int32_t word);

private:
    const Llama& model_;
    std::vector<KeyValues> layers_;
    Index length_ = 0;  ///< words so far
};

}  // namespace abh
