#include "tests/proof/components.hpp"

#include <cmath>
#include <memory>
#include <type_traits>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/03_masks/masks.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "chapters/08_decoder/decoder.hpp"
#include "chapters/09_training/loss.hpp"
#include "chapters/09_training/transformer.hpp"
#include "lib/linear.hpp"
#include "lib/matmul.hpp"

namespace abh::proof {

Sizes random_sizes(const Stream& stream) {
    const Ids draw = random_ids({9}, 0, 1 << 20, stream);
    const auto between = [&](Index i, Index low, Index high) {
        return low + draw(i) % (high - low + 1);
    };
    Sizes s;
    s.batch = between(0, 1, 3);
    s.length = between(1, 1, 5);
    s.keys = between(2, 1, 5);
    s.n_heads = between(3, 1, 3);
    s.d_model = s.n_heads * between(4, 3, 5);  // a norm of one or two columns is nearly constant
    s.d_ff = between(5, 1, 8);
    s.src_words = between(6, 3, 9);
    s.tgt_words = between(7, 3, 9);
    s.n_layers = between(8, 1, 2);
    return s;
}

namespace {

constexpr Index max_positions = 9;

Tensor random(const Shape& shape, Random& source) {
    return normal(shape, source.stream());
}

/// Weights other than the usual start, so that no bias is 0 and no gain 1.
template <class Layer>
std::shared_ptr<Layer> shaken(std::shared_ptr<Layer> layer, Random& source) {
    for (const NamedParameter& p : parameters_of(*layer)) {
        Tensor& value = p.parameter->value;
        value += uniform(value.shape(), Real(-0.5), Real(0.5), source.stream());
    }
    return layer;
}

/// Ids from 0, which is the pad, up; the first of each sentence is a word.
Ids random_words(Index batch, Index length, Index words, Random& source) {
    Ids ids = random_ids({batch, length}, 0, static_cast<std::int32_t>(words), source.stream());
    for (Index b = 0; b < batch; ++b) ids(b, 0) = 1;
    return ids;
}

/// A mask whose 1 hides. @param keep  what a 1 of `ids` says, as in the shared-head block
Mask as_mask(const Ids& ids, bool keep) {
    Mask mask(ids.shape());
    std::transform(ids.values().begin(), ids.values().end(), mask.data(),
                   [=](std::int32_t id) { return static_cast<std::uint8_t>((id != 0) != keep); });
    return mask;
}

/// Random masks in which each query sees the first key.
Ids random_mask(const Shape& shape, bool keep, Random& source) {
    Ids mask = random_ids(shape, 0, 2, source.stream());
    for (Index r = 0; r < mask.size() / mask.dim(-1); ++r) mask.data()[r * mask.dim(-1)] = keep;
    return mask;
}

/// Whether the masks of a system say what to keep: those of the shared-head block.
bool says_keep(const LayerOptions& o) {
    return o.attention.shared_head_projections;
}

/// A layer `y = forward(x)`.
template <class Layer>
Trial trial_of(std::shared_ptr<Layer> layer, const Tensor& x) {
    const auto forward = [=] {
        const auto cache = std::make_shared<typename Layer::Cache>();
        return Pass{layer->forward(x, cache.get()), [=](const Tensor& dy) {
                        return Gradients{{"x", layer->backward(dy, *cache)}};
                    }};
    };
    return {.inputs = {{"x", x}}, .parameters = parameters_of(*layer), .forward = forward};
}

Tensor hidden_states(const Sizes& s, Random& source) {
    return random({s.batch, s.length, s.d_model}, source);
}

auto matmul_of(bool transposed) {
    return [=](const Sizes& s, Random& source) {
        const MatmulOptions o{transposed, transposed, transposed ? Real(0.25) : Real(1)};
        const Index m = transposed ? s.keys : s.length, k = transposed ? s.length : s.keys;
        const Tensor a = random({s.batch, m, k}, source);
        const Tensor b = random(
            transposed ? Shape{s.batch, s.d_ff, s.keys} : Shape{s.batch, s.keys, s.d_ff}, source);
        const auto forward = [=] {
            return Pass{matmul(a, b, o), [=](const Tensor& dy) {
                            const MatmulGradients d = matmul_backward(dy, a, b, o);
                            return Gradients{{"a", d.da}, {"b", d.db}};
                        }};
        };
        return Trial{.inputs = {{"a", a}, {"b", b}}, .forward = forward};
    };
}

auto linear(bool bias) {
    return [=](const Sizes& s, Random& source) {
        return trial_of(std::make_shared<Linear>(s.d_model, s.d_ff, bias, source),
                        hidden_states(s, source));
    };
}

auto embedding(EmbeddingOptions options) {
    return [=](const Sizes& s, Random& source) {
        const auto layer = std::make_shared<Embedding>(s.src_words, s.d_model, options, source);
        const Ids src = random_words(s.batch, s.keys, s.src_words, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<Embedding::Cache>();
            return Pass{layer->forward(src, cache.get()), [=](const Tensor& dy) {
                            layer->backward(dy, *cache);
                            return Gradients();
                        }};
        };
        Trial trial{.ids = {{"src", src}}, .parameters = parameters_of(*layer), .forward = forward};
        if (options.padding_id == 0) trial.padded = {layer->table.value};
        return trial;
    };
}

auto positions(Positions kind, Real dropout) {
    return [=](const Sizes& s, Random& source) {
        const PositionalEncodingOptions options{kind, max_positions, dropout};
        return trial_of(std::make_shared<PositionalEncoding>(s.d_model, options, source),
                        hidden_states(s, source));
    };
}

Trial dropout(const Sizes& s, Random& source) {
    return trial_of(
        [&] {
            struct WithCollect : Dropout {
                using Dropout::Dropout;
                void collect(Parameters&, const std::string&) {}
            };
            return std::make_shared<WithCollect>(Real(0.3), source);
        }(),
        hidden_states(s, source));
}

auto masks(const std::function<Mask(const Ids& src, const Ids& tgt)>& mask) {
    return [=](const Sizes& s, Random& source) {
        const Ids src = random_words(s.batch, s.keys, s.src_words, source);
        const Ids tgt = random_words(s.batch, s.length, s.tgt_words, source);
        const auto forward = [=] {
            const Mask m = mask(src, tgt);
            Tensor y(m.shape());
            std::copy(m.values().begin(), m.values().end(), y.data());
            return Pass{y};
        };
        return Trial{.ids = {{"src", src}, {"tgt", tgt}}, .forward = forward};
    };
}

/// A function `y = forward(x)` whose backward needs dy and y, or x.
auto of_result(Tensor (*function)(const Tensor&), Tensor (*backward)(const Tensor&, const Tensor&),
               bool needs_x = false) {
    return [=](const Sizes& s, Random& source) {
        const Tensor x = hidden_states(s, source);
        const auto forward = [=] {
            const Tensor y = function(x);
            return Pass{y, [=](const Tensor& dy) {
                            return Gradients{{"x", backward(dy, needs_x ? x : y)}};
                        }};
        };
        return Trial{.inputs = {{"x", x}}, .forward = forward};
    };
}

auto attention_of(bool masked, bool shared_heads) {
    return [=](const Sizes& s, Random& source) {
        const Index d_k = s.d_model / s.n_heads;
        AttentionOptions options;
        if (shared_heads) {
            options = shared_head_layer().attention.attention;
            options.scale = 1 / std::sqrt(static_cast<Real>(s.d_model));
        }
        const Tensor q = random({s.batch, s.n_heads, s.length, d_k}, source);
        const Tensor k = random({s.batch, s.n_heads, s.keys, d_k}, source);
        const Tensor v = random({s.batch, s.n_heads, s.keys, d_k}, source);
        Trial t{.inputs = {{"q", q}, {"k", k}, {"v", v}}};
        Ids mask;
        if (masked) {
            mask = random_mask({s.batch, 1, s.length, s.keys}, shared_heads, source);
            t.ids = {{"mask", mask}};
        }
        t.forward = [=] {
            const auto cache = std::make_shared<AttentionCache>();
            const Mask hidden = masked ? as_mask(mask, shared_heads) : Mask();
            return Pass{attention(q, k, v, hidden, options, cache.get()), [=](const Tensor& dy) {
                            const AttentionGradients d = attention_backward(dy, *cache);
                            return Gradients{{"q", d.dq}, {"k", d.dk}, {"v", d.dv}};
                        }};
        };
        return t;
    };
}

/// A layer of one of the source texts' systems, in another size.
LayerOptions sized(LayerOptions o, const Sizes& s) {
    o.attention.d_model = s.d_model;
    o.attention.n_heads = s.n_heads;
    o.d_ff = s.d_ff;
    if (o.attention.attention.scale != 0)
        o.attention.attention.scale = 1 / std::sqrt(static_cast<Real>(s.d_model));
    return o;
}

LayerOptions with(LayerOptions o, NormPlacement placement, Real dropout = 0,
                  Real dropout_after_norm = 0) {
    o.add_norm.placement = placement;
    o.add_norm.dropout = dropout;
    o.add_norm.dropout_after_norm = dropout_after_norm;
    return o;
}

LayerOptions without_attention_biases() {
    LayerOptions o = notebook_layer();
    o.attention.bias_qkv = o.attention.bias_out = false;
    return o;
}

auto multi_head(const LayerOptions& layer_options) {
    return [=](const Sizes& s, Random& source) {
        const MultiHeadOptions o = sized(layer_options, s).attention;
        const auto layer = shaken(std::make_shared<MultiHeadAttention>(o, source), source);
        const Tensor query = hidden_states(s, source);
        const Tensor key = random({s.batch, s.keys, s.d_model}, source);
        const Tensor value = random({s.batch, s.keys, s.d_model}, source);
        const bool keep = o.shared_head_projections;
        const Ids mask = random_mask({s.batch, s.length, s.keys}, keep, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<MultiHeadAttention::Cache>();
            const Tensor y = layer->forward(query, key, value, as_mask(mask, keep), cache.get());
            return Pass{
                y, [=](const Tensor& dy) {
                    const auto d = layer->backward(dy, *cache);
                    return Gradients{{"query", d.dquery}, {"key", d.dkey}, {"value", d.dvalue}};
                }};
        };
        return Trial{.inputs = {{"query", query}, {"key", key}, {"value", value}},
                     .ids = {{"mask", mask}},
                     .parameters = parameters_of(*layer),
                     .forward = forward};
    };
}

auto feed_forward(bool bias, Activation activation = Activation::relu) {
    return [=](const Sizes& s, Random& source) {
        const auto ff = std::make_shared<FeedForward>(s.d_model, s.d_ff, bias, source, activation);
        return trial_of(shaken(ff, source), hidden_states(s, source));
    };
}

auto layer_norm(bool learned) {
    return [=](const Sizes& s, Random& source) {
        const LayerNormOptions options{.affine = learned};
        return trial_of(shaken(std::make_shared<LayerNorm>(s.d_model, options), source),
                        hidden_states(s, source));
    };
}

/// `norm(x + s)`.
auto add_norm_post(Real dropout_p) {
    return [=](const Sizes& sizes, Random& source) {
        const AddNormOptions o = with({}, NormPlacement::post, dropout_p, dropout_p).add_norm;
        const auto layer = shaken(std::make_shared<AddNorm>(sizes.d_model, o, source), source);
        const Tensor x = hidden_states(sizes, source), s = hidden_states(sizes, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<AddNorm::Cache>();
            const Tensor y = layer->after(layer->before(x, cache.get()), s, cache.get());
            return Pass{y, [=](const Tensor& dy) {
                            const auto d = layer->after_backward(dy, *cache);
                            return Gradients{{"x", d.dx}, {"s", d.dsublayer}};
                        }};
        };
        return Trial{.inputs = {{"x", x}, {"s", s}},
                     .parameters = parameters_of(*layer),
                     .forward = forward};
    };
}

/// `x + norm(x)^2`: around a sublayer that squares its input.
Trial add_norm_pre(const Sizes& sizes, Random& source) {
    const AddNormOptions o = with({}, NormPlacement::pre).add_norm;
    const auto layer = shaken(std::make_shared<AddNorm>(sizes.d_model, o, source), source);
    const Tensor x = hidden_states(sizes, source);
    const auto times = [](const Tensor& a, const Tensor& b, Real factor) {
        Tensor y(a.shape());
        for (Index i = 0; i < y.size(); ++i) y.data()[i] = factor * a.data()[i] * b.data()[i];
        return y;
    };
    const auto forward = [=] {
        const auto cache = std::make_shared<AddNorm::Cache>();
        const Tensor h = layer->before(x, cache.get());
        return Pass{layer->after(x, times(h, h, 1), cache.get()), [=](const Tensor& dy) {
                        const auto d = layer->after_backward(dy, *cache);
                        const Tensor dh = times(d.dsublayer, h, 2);
                        return Gradients{{"x", d.dx + layer->before_backward(dh, *cache)}};
                    }};
    };
    return {.inputs = {{"x", x}}, .parameters = parameters_of(*layer), .forward = forward};
}

/// A layer, or a stack of such layers.
template <class Layer>
std::shared_ptr<Layer> made(const LayerOptions& o, const Sizes& s, Random& source) {
    if constexpr (std::is_constructible_v<Layer, LayerOptions, Index, Random&>)
        return shaken(std::make_shared<Layer>(o, s.n_layers, source), source);
    else
        return shaken(std::make_shared<Layer>(o, source), source);
}

template <class Layer>
auto encoder(const LayerOptions& options) {
    return [=](const Sizes& s, Random& source) {
        const auto layer = made<Layer>(sized(options, s), s, source);
        const bool keep = says_keep(options);
        const Tensor x = random({s.batch, s.keys, s.d_model}, source);
        const Ids mask = random_mask({s.batch, s.keys, s.keys}, keep, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<typename Layer::Cache>();
            return Pass{layer->forward(x, as_mask(mask, keep), cache.get()), [=](const Tensor& dy) {
                            return Gradients{{"x", layer->backward(dy, *cache)}};
                        }};
        };
        return Trial{.inputs = {{"x", x}},
                     .ids = {{"mask", mask}},
                     .parameters = parameters_of(*layer),
                     .forward = forward};
    };
}

template <class Layer>
auto decoder(const LayerOptions& options) {
    return [=](const Sizes& s, Random& source) {
        const auto layer = made<Layer>(sized(options, s), s, source);
        const bool keep = says_keep(options);
        const Tensor x = hidden_states(s, source);
        const Tensor memory = random({s.batch, s.keys, s.d_model}, source);
        const Ids self = random_mask({s.batch, s.length, s.length}, keep, source);
        const Ids cross = random_mask({s.batch, s.length, s.keys}, keep, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<typename Layer::Cache>();
            const Tensor y =
                layer->forward(x, memory, as_mask(self, keep), as_mask(cross, keep), cache.get());
            return Pass{y, [=](const Tensor& dy) {
                            const auto d = layer->backward(dy, *cache);
                            return Gradients{{"x", d.dx}, {"memory", d.dmemory}};
                        }};
        };
        return Trial{.inputs = {{"x", x}, {"memory", memory}},
                     .ids = {{"self_mask", self}, {"cross_mask", cross}},
                     .parameters = parameters_of(*layer),
                     .forward = forward};
    };
}

/// `dy` is the gradient with respect to the loss, `[1]`.
auto cross_entropy_of(Real smoothing) {
    return [=](const Sizes& s, Random& source) {
        const Tensor logits = random({s.batch, s.length, s.tgt_words}, source);
        const Ids target = random_words(s.batch, s.length, s.tgt_words, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<CrossEntropyCache>();
            const double loss = cross_entropy(logits, target, {0, smoothing}, cache.get());
            return Pass{Tensor::full({1}, static_cast<Real>(loss)), [=](const Tensor& dy) {
                            Tensor d = cross_entropy_backward(*cache);
                            return Gradients{{"logits", d *= dy(0)}};
                        }};
        };
        return Trial{
            .inputs = {{"logits", logits}}, .ids = {{"target", target}}, .forward = forward};
    };
}

TransformerOptions sized(TransformerOptions o, const Sizes& s) {
    o.src_words = o.tied == Tied::all ? s.tgt_words : s.src_words;
    o.tgt_words = s.tgt_words;
    o.n_encoder_layers = o.n_decoder_layers = s.n_layers;
    o.layer = sized(o.layer, s);
    o.positions.max_len = max_positions;
    return o;
}

TransformerOptions without_dropout(TransformerOptions o) {
    o.layer.add_norm.dropout = o.layer.add_norm.dropout_after_norm = o.positions.dropout = 0;
    return o;
}

TransformerOptions pre_norm() {
    TransformerOptions o = without_dropout(TransformerOptions::article());
    o.layer.add_norm.placement = NormPlacement::pre;
    o.embedding.padding_id = 0;
    return o;
}

TransformerOptions tied_target() {
    TransformerOptions o = without_dropout(TransformerOptions::article());
    o.tied = Tied::target;
    return o;
}

/// As Marian's models are: one table of words for all, swish, sines before cosines.
TransformerOptions marian() {
    TransformerOptions o = without_dropout(TransformerOptions::article());
    o.tied = Tied::all;
    o.layer.activation = Activation::swish;
    o.positions.kind = Positions::sines_then_cosines;
    o.mask_target_pads = false;
    return o;
}

std::vector<Tensor> padded_tables(const Transformer& model) {
    if (model.options().embedding.padding_id < 0) return {};
    return {model.src_embed.table.value, model.tgt_embed.table.value};
}

/// The logits, or the loss of them.
auto model_of(const TransformerOptions& options, bool with_loss, Real smoothing = 0) {
    return [=](const Sizes& s, Random& source) {
        const auto model = shaken(std::make_shared<Transformer>(sized(options, s), source), source);
        const Ids src = random_words(s.batch, s.keys, model->options().src_words, source);
        const Ids tgt = random_words(s.batch, s.length, s.tgt_words, source);
        const Ids target = random_words(s.batch, s.length, s.tgt_words, source);
        struct Caches {
            Transformer::Cache model;
            Linear::Cache output;
            CrossEntropyCache loss;
        };
        const auto forward = [=] {
            const auto caches = std::make_shared<Caches>();
            const auto backward = [=](const Tensor& dlogits) {
                model->backward(model->output.backward(dlogits, caches->output), caches->model);
                return Gradients();
            };
            const Tensor logits =
                model->output.forward(model->forward(src, tgt, &caches->model), &caches->output);
            if (!with_loss) return Pass{logits, backward};
            const double loss = cross_entropy(logits, target, {0, smoothing}, &caches->loss);
            return Pass{Tensor::full({1}, static_cast<Real>(loss)), [=](const Tensor& dy) {
                            Tensor d = cross_entropy_backward(caches->loss);
                            return backward(d *= dy(0));
                        }};
        };
        Trial trial{.ids = {{"src", src}, {"tgt", tgt}},
                    .parameters = parameters_of(*model),
                    .padded = padded_tables(*model),
                    .forward = forward};
        if (with_loss) trial.ids["target"] = target;
        return trial;
    };
}

auto transformer(const TransformerOptions& options) {
    return model_of(options, false);
}

auto loss_of(const TransformerOptions& options, Real smoothing = 0) {
    return model_of(options, true, smoothing);
}

Mask target_mask(const Ids&, const Ids& tgt) {
    return mask_or(look_ahead_mask(tgt), padding_mask(tgt, tgt));
}

}  // namespace

const std::vector<Component>& components() {
    using enum NormPlacement;
    using T = TransformerOptions;
    const LayerOptions full = notebook_layer(), toy = toy_layer(), shared = shared_head_layer();
    constexpr Real p = Real(0.3);
    const auto plain = [](const T& o) { return without_dropout(o); };
    static const std::vector<Component> list = {
        {"matmul", 0, matmul_of(false)},
        {"matmul_transposed", 0, matmul_of(true)},
        {"linear", 0, linear(true)},
        {"linear_no_bias", 0, linear(false)},
        {"embedding", 1, embedding({})},
        {"embedding_scaled_padded", 1, embedding({.scale = true, .padding_id = 0})},
        {"positions_sinusoid", 2, positions(Positions::sinusoid, 0)},
        {"positions_halves", 2, positions(Positions::sines_then_cosines, 0)},
        {"positions_learned", 2, positions(Positions::learned, 0)},
        {"positions_dropout", 2, positions(Positions::learned, p), false},
        {"dropout", 2, dropout, false},
        {"padding_mask", 3,
         masks([](const Ids& src, const Ids& tgt) { return padding_mask(tgt, src); }), true, false},
        {"look_ahead_mask", 3,
         masks([](const Ids&, const Ids& tgt) { return look_ahead_mask(tgt); }), true, false},
        {"target_mask", 3, masks(target_mask), true, false},
        {"softmax", 4, of_result(softmax, softmax_backward)},
        {"attention", 4, attention_of(false, false)},
        {"attention_masked", 4, attention_of(true, false)},
        {"attention_keep", 4, attention_of(true, true)},
        {"attention_hidden_row", 4, attention_of(true, false)},
        {"multi_head_attention", 5, multi_head(full)},
        {"multi_head_attention_no_bias", 5, multi_head(without_attention_biases())},
        {"multi_head_attention_shared_maps", 5, multi_head(shared)},
        {"relu", 6, of_result(relu, relu_backward)},
        {"swish", 6, of_result(swish, swish_backward, true)},
        {"feed_forward", 6, feed_forward(true)},
        {"feed_forward_no_bias", 6, feed_forward(false)},
        {"feed_forward_swish", 6, feed_forward(true, Activation::swish)},
        {"layer_norm", 6, layer_norm(true)},
        {"layer_norm_fixed", 6, layer_norm(false)},
        {"add_norm_post", 6, add_norm_post(0)},
        {"add_norm_pre", 6, add_norm_pre},
        {"add_norm_dropout", 6, add_norm_post(p), false},
        {"encoder_layer", 7, encoder<EncoderLayer>(full)},
        {"encoder_layer_pre", 7, encoder<EncoderLayer>(with(full, pre))},
        {"encoder_layer_toy", 7, encoder<EncoderLayer>(toy)},
        {"encoder_layer_shared_heads", 7, encoder<EncoderLayer>(shared)},
        {"encoder_layer_dropout", 7, encoder<EncoderLayer>(with(full, post, p, p)), false},
        {"encoder", 7, encoder<Encoder>(full)},
        {"encoder_pre", 7, encoder<Encoder>(with(full, pre))},
        {"decoder_layer", 8, decoder<DecoderLayer>(full)},
        {"decoder_layer_pre", 8, decoder<DecoderLayer>(with(full, pre))},
        {"decoder_layer_toy", 8, decoder<DecoderLayer>(toy)},
        {"decoder_layer_shared_heads", 8, decoder<DecoderLayer>(shared)},
        {"decoder_layer_dropout", 8, decoder<DecoderLayer>(with(full, pre, p)), false},
        {"decoder", 8, decoder<Decoder>(full)},
        {"decoder_pre", 8, decoder<Decoder>(with(full, pre))},
        {"cross_entropy", 9, cross_entropy_of(0)},
        {"cross_entropy_smoothed", 9, cross_entropy_of(Real(0.1))},
        {"transformer_toy", 9, transformer(plain(T::toy()))},
        {"transformer_notebook", 9, transformer(plain(T::notebook()))},
        {"transformer_article", 9, transformer(plain(T::article()))},
        {"transformer_shared_heads", 9, transformer(plain(T::shared_heads()))},
        {"transformer_pre", 9, transformer(pre_norm())},
        {"transformer_tied", 9, transformer(tied_target())},
        {"transformer_marian", 9, transformer(marian())},
        {"transformer_dropout", 9, transformer(T::article()), false},
        {"loss_toy", 9, loss_of(plain(T::toy()))},
        {"loss_notebook", 9, loss_of(plain(T::notebook()))},
        {"loss_article", 9, loss_of(plain(T::article()), Real(0.1))},
        {"loss_shared_heads", 9, loss_of(plain(T::shared_heads()))},
        {"marian_loss", 9, loss_of(marian(), Real(0.1))},
    };
    return list;
}

}  // namespace abh::proof
