#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/linear.hpp"
#include "lib/matmul.hpp"
#include "tests/proof/trials.hpp"

namespace abh::proof {

Maker matmul_of(bool transposed) {
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

Maker linear(bool bias) {
    return [=](const Sizes& s, Random& source) {
        return trial_of(std::make_shared<Linear>(s.d_model, s.d_ff, bias, source),
                        hidden_states(s, source));
    };
}

Maker embedding(EmbeddingOptions options) {
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

Maker positions(Positions kind, Real dropout) {
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

Maker masks(const std::function<Mask(const Ids& src, const Ids& tgt)>& mask) {
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

Maker of_result(Tensor (*function)(const Tensor&), Tensor (*backward)(const Tensor&, const Tensor&),
                bool needs_x) {
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

Maker attention_of(bool masked, bool shared_heads) {
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

}  // namespace abh::proof
