#include "chapters/15_language_model/language_model.hpp"

#include <algorithm>
#include <cmath>

#include "lib/part.hpp"

namespace abh {
// [stack]
Stack::Stack(const StackOptions& o, Random random)
    : tied_(o.tied),
      random_(std::move(random)),
      embed(o.words, o.layer.attention.d_model, o.embedding, random_),
      positions(o.layer.attention.d_model, o.positions, random_),
      layers(o.layer, o.n_layers, random_),
      output(o.layer.attention.d_model, o.words, true, random_) {
    if (tied_) output.weight = embed.table;
}

void Stack::collect(Parameters& list, const std::string& name) {
    embed.collect(list, join_name(name, "embed"));
    positions.collect(list, join_name(name, "positions"));
    layers.collect(list, name);
    if (tied_)
        list.push_back({join_name(name, "output.bias"), &output.bias});
    else
        output.collect(list, join_name(name, "output"));
}
Tensor Stack::forward(const Sentences& text, Cache* cache, std::vector<Tensor>* weights) const {
    if (cache) cache->packing = text.packing;
    const Tensor vectors = embed.forward(text.ids, part(cache, &Cache::embed));
    const Tensor x = positions.forward(vectors, part(cache, &Cache::positions));
    // [stack: forward]
    AttentionMask mask = hide_future();  // the only change to chapter 7
    mask.queries = mask.keys = text.packing;
    return layers.forward(pack(x, text.packing), mask, part(cache, &Cache::layers), weights);
    // [stack: end]
}
// [stack: backward]
void Stack::backward(const Tensor& dy, const Cache& cache) {
    const Tensor dx = layers.backward(dy, cache.layers);
    embed.backward(positions.backward(unpack(dx, cache.packing), cache.positions), cache.embed);
}
// [llama]
namespace {

EmbeddingOptions table_of(const LlamaOptions& o) {
    // the sinusoid has numbers of order 1, and so must have what it is added to
    return {.scale = !o.block.attention.rotary,
            .deviation = 1 / std::sqrt(static_cast<Real>(o.block.attention.d_model))};
}

}  // namespace

Llama::Llama(const LlamaOptions& o, Random random)
    : options_(o),
      random_(std::move(random)),
      embed(o.words, o.block.attention.d_model, table_of(o), random_),
      norm(make_norm(o.block)),
      output(o.block.attention.d_model, o.words, false, random_) {
    if (!o.block.attention.rotary && o.positions)
        positions.emplace(o.block.attention.d_model,
                          PositionalEncodingOptions{.max_len = o.context}, random_);
    for (Index i = 0; i < o.n_layers; ++i) blocks.emplace_back(o.block, random_);
    if (o.tied) output.weight = embed.table;  // a handle: one value, one gradient
}

void Llama::collect(Parameters& list, const std::string& name) {
    embed.collect(list, join_name(name, "embed_tokens"));
    for (std::size_t i = 0; i < blocks.size(); ++i)
        blocks[i].collect(list, join_name(name, "layers." + std::to_string(i)));
    norm.collect(list, join_name(name, "norm"));
    if (!options_.tied) output.collect(list, join_name(name, "lm_head"));
}
// [llama: vectors]
Tensor Llama::vectors(const Ids& ids, Embedding::Cache* cache) const {
    const auto& stored = embed.table.stored;
    if (!stored) return embed.forward(ids, cache);
    Tensor x({ids.dim(0), ids.dim(1), stored->d_in()});
    auto to = x.values().begin();
    for (const std::int32_t id : ids.values()) {
        require(id >= 0 && id < stored->d_out(), "language model: word {} of {}", id,
                stored->d_out());
        to = std::ranges::copy(stored->read_rows(id, id + 1).values(), to).out;
    }
    return x;
}
// [llama: forward]
Tensor Llama::forward(const Sentences& text, Cache* cache, std::vector<Tensor>* weights) const {
    require(text.ids.dim(1) >= 1, "language model: a text without words");
    require(text.ids.dim(1) <= options_.context,
            "language model: a text of {} words, but its context is {}", text.ids.dim(1),
            options_.context);
    if (cache) cache->blocks.resize(blocks.size());
    if (weights) weights->resize(blocks.size());
    if (cache) cache->packing = text.packing;
    Tensor x = vectors(text.ids, part(cache, &Cache::embed));
    if (positions) x = positions->forward(x, part(cache, &Cache::positions));
    x = pack(x, text.packing);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        x = blocks[i].forward(x, part(part(cache, &Cache::blocks), i), text.packing,
                              part(weights, i));
    return norm.forward(x, part(cache, &Cache::norm));
}

void Llama::backward(const Tensor& dy, const Cache& cache) {
    Tensor dx = norm.backward(dy, cache.norm);
    for (std::size_t i = blocks.size(); i-- > 0;) dx = blocks[i].backward(dx, cache.blocks[i]);
    dx = unpack(dx, cache.packing);
    if (positions) dx = positions->backward(dx, cache.positions);
    embed.backward(dx, cache.embed);
}

}  // namespace abh
