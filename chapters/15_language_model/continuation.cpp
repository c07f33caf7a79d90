#include "chapters/15_language_model/continuation.hpp"

namespace abh {

Continuation::Continuation(const Llama& model) : model_(model) {
    for (const Block& block : model.blocks)
        layers_.push_back(block.attention.room(model.options().context));
}
// [next]
Tensor Continuation::next(std::int32_t word) {
    require(length_ < model_.options().context,
            "the text has {} words, and the model's context is full", length_);
    Tensor x = model_.embed.forward(Ids({1, 1}, {word}));  // [1, 1, d_model]
    if (model_.positions) x = model_.positions->forward(x, nullptr, length_);
    // [next: model]
    for (std::size_t i = 0; i < layers_.size(); ++i)
        x = model_.blocks[i].next(x, layers_[i], length_);
    const Tensor logits = model_.output.forward(model_.norm.forward(x));  // [1, 1, words]
    // [next: end]
    ++length_;
    return logits.reshape({logits.size()});
}

}  // namespace abh
