#include "chapters/09_training/model/transformer.hpp"

#include <cmath>
#include <stdexcept>

#include "lib/part.hpp"

namespace abh {
// [construct]
namespace {

/// A table that is also the last map starts narrow, whatever the options say.
EmbeddingOptions table_options(const TransformerOptions& o) {
    EmbeddingOptions table = o.embedding;
    if (o.tied != Tied::none)
        table.deviation = 1 / std::sqrt(static_cast<Real>(o.layer.attention.d_model));
    return table;
}

}  // namespace

Transformer::Transformer(const TransformerOptions& o, Random random)
    : options_(o),
      random_(std::move(random)),
      src_embed(o.src_words, o.layer.attention.d_model, table_options(o), random_),
      tgt_embed(o.tgt_words, o.layer.attention.d_model, table_options(o), random_),
      src_positions(o.layer.attention.d_model, o.positions, random_),
      tgt_positions(o.layer.attention.d_model, o.positions, random_),
      encoder(o.layer, o.n_encoder_layers, random_),
      decoder(o.layer, o.n_decoder_layers, random_),
      output(o.layer.attention.d_model, o.tgt_words, o.output_bias, random_) {
    if (o.tied != Tied::none) tie();
}

void Transformer::collect(Parameters& list, const std::string& name) {
    if (!tables_are_tied())
        throw std::logic_error("transformer: tied tables no longer share their elements");
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
// [tie]
void Transformer::tie() {
    require(options_.tied != Tied::all || options_.src_words == options_.tgt_words,
            "transformer: {} source words and {} target words cannot share one table",
            options_.src_words, options_.tgt_words);
    // [tie: handles]
    output.weight = tgt_embed.table;  // a second name: one value, one gradient
    if (options_.tied == Tied::all) src_embed.table = tgt_embed.table;
    // [tie: end]
}

bool Transformer::tables_are_tied() const {
    const Tensor& table = tgt_embed.table.value;
    return (options_.tied == Tied::none || output.weight.value.is(table)) &&
           (options_.tied != Tied::all || src_embed.table.value.is(table));
}
// [masks]
AttentionMask Transformer::source_mask(const Sentences& src, const Sentences& queries) const {
    AttentionMask mask = hide_pads(src.ids, options_.pad);
    mask.queries = queries.packing;
    mask.keys = src.packing;
    return mask;
}

AttentionMask Transformer::target_mask(const Sentences& tgt) const {
    AttentionMask mask = hide_future();
    if (options_.mask_target_pads) mask = mask | hide_pads(tgt.ids, options_.pad);
    mask.queries = mask.keys = tgt.packing;
    return mask;
}
// [pass]
namespace {

/// One pass through a model. Each part keeps what backward needs in its own place of the cache.
struct Pass {
    using Kept = Transformer::Cache;
    using Weights = Transformer::AttentionWeights;
    const Transformer& all;
    Kept* cache;
    Weights* weights;

    Tensor run(auto& layer, auto& x, auto at) const { return layer.forward(x, part(cache, at)); }
    Tensor src_embed(const Ids& ids) const { return run(all.src_embed, ids, &Kept::src_embed); }
    Tensor tgt_embed(const Ids& ids) const { return run(all.tgt_embed, ids, &Kept::tgt_embed); }
    Tensor src_positions(const Tensor& x) const {
        return run(all.src_positions, x, &Kept::src_positions);
    }
    Tensor tgt_positions(const Tensor& x) const {
        return run(all.tgt_positions, x, &Kept::tgt_positions);
    }
    Tensor encoder(const Tensor& x, const Sentences& src) const {
        if (cache) cache->src = src.packing;
        return all.encoder.forward(pack(x, src.packing), all.source_mask(src, src),
                                   part(cache, &Kept::encoder), part(weights, &Weights::encoder));
    }
    Tensor decoder(const Tensor& x, const Tensor& memory, const Sentences& tgt,
                   const Sentences& src) const {
        if (cache) cache->tgt = tgt.packing;
        return all.decoder.forward(pack(x, tgt.packing), memory, all.target_mask(tgt),
                                   all.source_mask(src, tgt), part(cache, &Kept::decoder),
                                   part(weights, &Weights::decoder));
    }
    // [forward]
    Tensor encode(const Sentences& src) const {
        const Tensor x = src_positions(src_embed(src.ids));  // [B, Ls, d_model]
        return encoder(x, src);                              // memory [B, Ls, d_model]
    }
    Tensor decode(const Sentences& tgt, const Tensor& memory, const Sentences& src) const {
        const Tensor x = tgt_positions(tgt_embed(tgt.ids));  // [B, Lt, d_model]
        return decoder(x, memory, tgt, src);                 // [B, Lt, d_model]
    }
    // [interface]
};

}  // namespace

Tensor Transformer::encode(const Sentences& src, Cache* cache, AttentionWeights* weights) const {
    return Pass{*this, cache, weights}.encode(src);
}

Tensor Transformer::decode(const Sentences& tgt, const Tensor& memory, const Sentences& src,
                           Cache* cache, AttentionWeights* weights) const {
    return Pass{*this, cache, weights}.decode(tgt, memory, src);
}

Tensor Transformer::forward(const Sentences& src, const Sentences& tgt, Cache* cache,
                            AttentionWeights* weights) const {
    return decode(tgt, encode(src, cache, weights), src, cache, weights);
}

Tensor Transformer::logits(const Sentences& src, const Sentences& tgt) const {
    return output.forward(forward(src, tgt));
}
// [backward]
// forward was:  memory = encoder(src),  y = decoder(tgt, memory)
// hence:        the same steps from last to first; memory's gradient goes into the encoder
void Transformer::backward(const Tensor& dy, const Cache& cache) {
    const auto tgt_positions_backward = [&](const Tensor& dx) {
        return tgt_positions.backward(unpack(dx, cache.tgt), cache.tgt_positions);
    };
    const auto src_positions_backward = [&](const Tensor& dx) {
        return src_positions.backward(unpack(dx, cache.src), cache.src_positions);
    };
    // [backward: lines]
    const auto [dx, dmemory] = decoder.backward(dy, cache.decoder);
    tgt_embed.backward(tgt_positions_backward(dx), cache.tgt_embed);
    const Tensor dx_src = encoder.backward(dmemory, cache.encoder);
    src_embed.backward(src_positions_backward(dx_src), cache.src_embed);
    // [backward: end]
}

}  // namespace abh
