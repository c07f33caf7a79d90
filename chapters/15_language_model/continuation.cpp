#include "chapters/15_language_model/continuation.hpp"

#include <algorithm>

namespace abh {

Continuation::Continuation(const Llama& model, Index room)
    : model_(model), room_(room > 0 ? room : model.options().context) {
    require(room_ <= model.options().context, "{} words, but the model's context has {}", room_,
            model.options().context);
    for (const Block& block : model.blocks) layers_.push_back(block.attention.room(room_));
}
// [next]
Tensor Continuation::next(std::span<const std::int32_t> words) {
    const Index n = std::ssize(words);
    require(n >= 1, "a text without words has nothing to continue");
    require(length_ + n <= room_, "the text has {} words, and the model's context is full",
            length_);
    if (length_ > 0)
        for (; words.size() > 1; words = words.subspan(1)) next(words[0]);
    Ids ids({1, std::ssize(words)});
    std::ranges::copy(words, ids.values().begin());
    Tensor x = model_.vectors(ids);  // [1, n, d_model]
    if (model_.positions) x = model_.positions->forward(x, nullptr, length_);
    // [next: model]
    for (std::size_t i = 0; i < layers_.size(); ++i)
        x = model_.blocks[i].next(x, layers_[i], length_);
    const Tensor last = x.reshape({ids.size(), x.dim(2)}).rows(ids.size() - 1, ids.size());
    const Tensor logits = model_.output.forward(model_.norm.forward(last));  // [1, words]
    // [next: end]
    length_ += ids.size();
    return logits.reshape({logits.size()});
}

}  // namespace abh
