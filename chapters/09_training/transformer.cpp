#include "chapters/09_training/transformer.hpp"

#include <cmath>
#include <stdexcept>

#include "lib/part.hpp"

namespace abh {
// [construct]
Transformer::Transformer(const TransformerOptions& o, Random random)
    : options_(o),
      random_(std::move(random)),
      src_embed(o.src_words, o.layer.attention.d_model, o.embedding, random_),
      tgt_embed(o.tgt_words, o.layer.attention.d_model, o.embedding, random_),
      src_positions(o.layer.attention.d_model, o.positions, random_.from(first_.source_places)),
      tgt_positions(o.layer.attention.d_model, o.positions, random_.from(first_.target_places)),
      encoder(o.layer, o.n_encoder_layers, random_.from(first_.source_words)),
      decoder(o.layer, o.n_decoder_layers, random_.from(first_.target_words)),
      output(o.layer.attention.d_model, o.tgt_words, o.output_bias, random_) {
    if (o.tied != Tied::none) tie();
}

void Transformer::collect(Parameters& list, const std::string& name) {
    if (!tables_are_tied())
        throw std::logic_error("transformer: tables that are tied were replaced one by one");
    src_embed.collect(list, join_name(name, "src_embed"));
    src_positions.collect(list, join_name(name, "src_positions"));
    encoder.collect(list, join_name(name, "encoder"));
    if (options_.tied != Tied::all) tgt_embed.collect(list, join_name(name, "tgt_embed"));
    tgt_positions.collect(list, join_name(name, "tgt_positions"));
    decoder.collect(list, join_name(name, "decoder"));
    if (options_.tied == Tied::none)
        output.collect(list, join_name(name, "output"));
    else if (output.has_bias())
        list.push_back({join_name(name, "output.bias"), &output.bias});
}
// [begin]
void Transformer::begin_at(const FirstRows& rows) {
    const auto block = [&](Index row) {
        const Index element = row * options_.layer.attention.d_model;
        require(element % 4 == 0, "transformer: row {} begins with element {}, no multiple of 4",
                row, element);
        return static_cast<std::uint64_t>(element / 4);
    };
    *first_.source_places = block(rows.source_places);
    *first_.target_places = block(rows.target_places);
    *first_.source_words = block(rows.source_words);
    *first_.target_words = block(rows.target_words);
}
// [tie]
void Transformer::tie() {
    require(options_.tied != Tied::all || options_.src_words == options_.tgt_words,
            "transformer: one table for {} source words and {} target words", options_.src_words,
            options_.tgt_words);
    for (Embedding* words : {&src_embed, &tgt_embed})  // deviation 1 / sqrt(d_model)
        words->table.value *= 1 / std::sqrt(static_cast<Real>(words->d_model()));
    output.weight = tgt_embed.table;  // handles: one value, one gradient
    if (options_.tied == Tied::all) src_embed.table = tgt_embed.table;
}

bool Transformer::tables_are_tied() const {
    const Tensor& table = tgt_embed.table.value;
    return (options_.tied == Tied::none || output.weight.value.is(table)) &&
           (options_.tied != Tied::all || src_embed.table.value.is(table));
}
// [masks]
AttentionMask Transformer::source_mask(const Ids& src) const {
    return hide_pads(src, options_.pad);
}

AttentionMask Transformer::target_mask(const Ids& tgt) const {
    return options_.mask_target_pads ? hide_future() | hide_pads(tgt, options_.pad) : hide_future();
}
// [forward]
Tensor Transformer::encode(const Ids& src, Cache* cache, AttentionWeights* weights,
                           const Packing& packing) const {
    const Tensor vectors = src_embed.forward(src, part(cache, &Cache::src_embed));
    Tensor x = src_positions.forward(vectors, part(cache, &Cache::src_positions));
    if (!packing.empty()) x = pack(x, packing);
    AttentionMask mask = source_mask(src);
    mask.packed = {packing, packing};
    return encoder.forward(x, mask, part(cache, &Cache::encoder),
                           part(weights, &AttentionWeights::encoder));  // [B, Ls, d_model]
}

Tensor Transformer::decode(const Ids& tgt, const Tensor& memory, const Ids& src, Cache* cache,
                           AttentionWeights* weights, const Packed& packed) const {
    const Tensor vectors = tgt_embed.forward(tgt, part(cache, &Cache::tgt_embed));
    Tensor x = tgt_positions.forward(vectors, part(cache, &Cache::tgt_positions));
    if (!packed.empty()) x = pack(x, packed.queries);
    if (cache) cache->packed = packed;
    AttentionMask self_mask = target_mask(tgt), cross_mask = source_mask(src);
    self_mask.packed = {packed.queries, packed.queries};
    cross_mask.packed = packed;
    return decoder.forward(x, memory, self_mask, cross_mask, part(cache, &Cache::decoder),
                           part(weights, &AttentionWeights::decoder));  // [B, Lt, d_model]
}

Tensor Transformer::forward_hidden(const Ids& src, const Ids& tgt, Cache* cache,
                                   AttentionWeights* weights, const Packed& packed) const {
    const Tensor memory = encode(src, cache, weights, packed.keys);
    return decode(tgt, memory, src, cache, weights, packed);
}

Tensor Transformer::forward(const Ids& src, const Ids& tgt, Cache* cache,
                            AttentionWeights* weights) const {
    const Tensor y = forward_hidden(src, tgt, cache, weights);
    return output.forward(y, part(cache, &Cache::output));  // [B, Lt, tgt_words]
}
// [backward]
// forward was:  memory = encoder(src),  logits = output(decoder(tgt, memory))
// hence:        the same steps from last to first; memory's gradient goes into the encoder
void Transformer::backward(const Tensor& dlogits, const Cache& cache) {
    backward_hidden(output.backward(dlogits, cache.output), cache);
}

void Transformer::backward_hidden(const Tensor& dy, const Cache& cache,
                                  const Completed& completed) {
    const auto padded = [](const Tensor& d, const Packing& packing) {
        return packing.empty() ? d : unpack(d, packing);
    };
    const auto& [target, source] = cache.packed;
    const auto [dtgt, dmemory] = decoder.backward(dy, cache.decoder, completed);
    tgt_embed.backward(tgt_positions.backward(padded(dtgt, target), cache.tgt_positions),
                       cache.tgt_embed);
    report(completed, tgt_positions);
    report(completed, tgt_embed);

    const Tensor dsrc = encoder.backward(dmemory, cache.encoder, completed);
    src_embed.backward(src_positions.backward(padded(dsrc, source), cache.src_positions),
                       cache.src_embed);
    report(completed, src_positions);
    report(completed, src_embed);
}

}  // namespace abh
