#include "chapters/09_training/transformer.hpp"

#include "chapters/03_masks/masks.hpp"

namespace abh {
// [construct]
Transformer::Transformer(const TransformerOptions& o, Random random)
    : options_(o),
      random_(std::move(random)),
      src_embed(o.src_words, o.layer.attention.d_model, o.embedding, random_),
      tgt_embed(o.tgt_words, o.layer.attention.d_model, o.embedding, random_),
      src_positions(o.layer.attention.d_model, o.positions, random_),
      tgt_positions(o.layer.attention.d_model, o.positions, random_),
      encoder(o.layer, o.n_encoder_layers, random_),
      decoder(o.layer, o.n_decoder_layers, random_),
      output(o.layer.attention.d_model, o.tgt_words, o.output_bias, random_) {}

void Transformer::collect(Parameters& list, const std::string& name) {
    src_embed.collect(list, join_name(name, "src_embed"));
    tgt_embed.collect(list, join_name(name, "tgt_embed"));
    src_positions.collect(list, join_name(name, "src_positions"));
    tgt_positions.collect(list, join_name(name, "tgt_positions"));
    encoder.collect(list, join_name(name, "encoder"));
    decoder.collect(list, join_name(name, "decoder"));
    output.collect(list, join_name(name, "output"));
}
// [masks]
Mask Transformer::by_convention(const Mask& hide) const {
    const bool keep = options_.layer.attention.attention.mask_meaning == MaskMeaning::keep;
    return keep ? invert(hide) : hide;
}

Mask Transformer::source_mask(const Ids& queries, const Ids& src) const {
    return by_convention(padding_mask(queries, src, options_.pad));
}

Mask Transformer::target_mask(const Ids& tgt) const {
    const Mask future = look_ahead_mask(tgt);
    return by_convention(
        options_.mask_target_pads ? either(future, padding_mask(tgt, tgt, options_.pad)) : future);
}
// [forward]
Tensor Transformer::encode(const Ids& src, Cache* cache, Maps* maps, const Packed& packed) const {
    const Tensor vectors = src_embed.forward(src, cache ? &cache->src_embed : nullptr);
    Tensor x = src_positions.forward(vectors, cache ? &cache->src_positions : nullptr);
    if (!packed.empty()) x = pack(x, packed.keys);
    return encoder.forward(x, source_mask(src, src), cache ? &cache->encoder : nullptr,
                           maps ? &maps->encoder : nullptr, packed.keys);  // [B, Ls, d_model]
}

Tensor Transformer::encode(const Ids& src, Cache* cache, Maps* maps) const {
    return encode(src, cache, maps, {});
}

Tensor Transformer::decode_to_output(const Ids& tgt, const Tensor& memory, const Ids& src,
                                     Cache* cache, Maps* maps, const Packed& packed) const {
    const Tensor vectors = tgt_embed.forward(tgt, cache ? &cache->tgt_embed : nullptr);
    Tensor x = tgt_positions.forward(vectors, cache ? &cache->tgt_positions : nullptr);
    if (!packed.empty()) x = pack(x, packed.queries);
    if (cache) cache->packed = packed;
    return decoder.forward(x, memory, target_mask(tgt), source_mask(tgt, src),
                           cache ? &cache->decoder : nullptr, maps ? &maps->decoder : nullptr,
                           packed);  // [B, Lt, d_model]
}

Tensor Transformer::decode(const Ids& tgt, const Tensor& memory, const Ids& src, Cache* cache,
                           Maps* maps) const {
    const Tensor y = decode_to_output(tgt, memory, src, cache, maps, {});
    return output.forward(y, cache ? &cache->output : nullptr);  // [B, Lt, tgt_words]
}

Tensor Transformer::forward(const Ids& src, const Ids& tgt, Cache* cache, Maps* maps) const {
    return decode(tgt, encode(src, cache, maps), src, cache, maps);
}

Tensor Transformer::forward_to_output(const Ids& src, const Ids& tgt, Cache* cache,
                                      const Packed& packed) const {
    return decode_to_output(tgt, encode(src, cache, nullptr, packed), src, cache, nullptr, packed);
}
// [backward]
// forward was:  memory = encoder(src),  logits = output(decoder(tgt, memory))
// hence:        the same steps from last to first; memory's gradient goes into the encoder
void Transformer::backward(const Tensor& dlogits, const Cache& cache) {
    backward_from_output(output.backward(dlogits, cache.output), cache);
}

void Transformer::backward_from_output(const Tensor& dy, const Cache& cache) {
    const auto [dtgt, dmemory] = decoder.backward(dy, cache.decoder);
    const auto padded = [&](const Tensor& d, const Packing& packing) {
        return packing.empty() ? d : unpack(d, packing);
    };
    const auto& [target, source] = cache.packed;
    tgt_embed.backward(tgt_positions.backward(padded(dtgt, target), cache.tgt_positions),
                       cache.tgt_embed);

    const Tensor dsrc = encoder.backward(dmemory, cache.encoder);
    src_embed.backward(src_positions.backward(padded(dsrc, source), cache.src_positions),
                       cache.src_embed);
}

}  // namespace abh
