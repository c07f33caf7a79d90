#pragma once

#include <string>
#include <utility>
#include <variant>

#include "lib/parameter.hpp"

namespace abh {
// [either]
/// A layer of one kind or another, chosen when the model is built: for comparisons.
template <class... Layers>
class Either {
public:
    using Cache = std::variant<std::monostate, typename Layers::Cache...>;

    template <class Layer>
    Either(Layer layer) : layer_(std::move(layer)) {}

    Tensor forward(const Tensor& x, Cache* cache = nullptr) const {
        return std::visit(
            [&]<class Layer>(const Layer& layer) {
                return layer.forward(
                    x, cache ? &cache->template emplace<typename Layer::Cache>() : nullptr);
            },
            layer_);
    }
    Tensor backward(const Tensor& dy, const Cache& cache) {
        return std::visit(
            [&]<class Layer>(Layer& layer) {
                return layer.backward(dy, std::get<typename Layer::Cache>(cache));
            },
            layer_);
    }
    void collect(Parameters& list, const std::string& name) {
        std::visit([&](auto& layer) { layer.collect(list, name); }, layer_);
    }

private:
    std::variant<Layers...> layer_;
};

}  // namespace abh
