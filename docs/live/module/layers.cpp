// The widgets of chapters 2, 4, 6 and 9, in double precision: each call runs the book's own
// functions, forward and backward, on the numbers that a reader has chosen.
#include <utility>

#include "calls.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/04_scaled_dot_product_attention/sentence.hpp"
#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"
#include "chapters/09_training/optimizer/optimizer.hpp"
#include "lib/gradcheck.hpp"
#include "lib/matmul.hpp"

using namespace abh;
using live::In;
using live::put;
using live::with_numbers;

namespace {
// [attention]
/// One head of one sentence: sizes Lq, Lk, d_k, d_v, scale, fill, then q, k, v, dy and the mask.
struct Attention {
    Tensor q, k, v, dy;
    Mask mask;
    AttentionOptions options;

    explicit Attention(In& in) {
        const Index lq = in.whole(), lk = in.whole(), d_k = in.whole(), d_v = in.whole();
        options.scale = static_cast<Real>(in.number());
        options.fill = static_cast<Real>(in.number());
        q = in.tensor({1, 1, lq, d_k});
        k = in.tensor({1, 1, lk, d_k});
        v = in.tensor({1, 1, lk, d_v});
        dy = in.tensor({1, 1, lq, d_v});
        mask = in.mask({1, 1, lq, lk});
    }
};

/// Puts how far a gradient is from differences: relative error, element, analytic, numeric.
void put_difference(const std::function<Tensor()>& forward, const Tensor& x, const Tensor& dx,
                    const Tensor& dy) {
    const GradientError e = check_gradient(forward, x, dx, dy);
    for (const double number : {e.relative, static_cast<double>(e.element), e.analytic, e.numeric})
        put(number);
}

}  // namespace

extern "C" {

/// The words of the running example, with spaces between them.
EMSCRIPTEN_KEEPALIVE const char* live_words() {
    return live::text([] {
        std::string line;
        for (const std::string& word : example::words) line += (line.empty() ? "" : " ") + word;
        return line;
    });
}
/// @return its queries [8, 4], keys [8, 4] and values [8, 2]
EMSCRIPTEN_KEEPALIVE int live_example() {
    return with_numbers([](In&) {
        for (const Tensor& t : {example::queries, example::keys, example::values}) put(t);
    });
}

/// @return scores and weights [Lq, Lk], y [Lq, d_v], ds [Lq, Lk], dq, dk, dv
EMSCRIPTEN_KEEPALIVE int live_attention() {
    return with_numbers([](In& in) {
        const Attention a(in);
        AttentionCache cache;
        const Tensor y = attention(a.q, a.k, a.v, a.mask, a.options, &cache);
        const auto [dq, dk, dv] = attention_backward(a.dy, cache);
        put(matmul(a.q, a.k, {.transpose_b = true, .scale = scale_of(a.options, a.q.dim(3))}));
        put(cache.weights);
        put(y);
        Tensor ds = softmax_backward(matmul(a.dy, a.v, {.transpose_b = true}), cache.weights);
        masked_fill(ds, a.mask, 0);  // as inside attention_backward
        for (const Tensor& t : {ds, dq, dk, dv}) put(t);
    });
}
/// Compares dq, dk and dv with central differences.
EMSCRIPTEN_KEEPALIVE int live_attention_check() {
    return with_numbers([](In& in) {
        const Attention a(in);
        AttentionCache cache;
        attention(a.q, a.k, a.v, a.mask, a.options, &cache);
        const AttentionGradients d = attention_backward(a.dy, cache);
        const auto forward = [&] { return attention(a.q, a.k, a.v, a.mask, a.options); };
        put_difference(forward, a.q, d.dq, a.dy);
        put_difference(forward, a.k, d.dk, a.dy);
        put_difference(forward, a.v, d.dv, a.dy);
    });
}
// [softmax]
/// n, temperature, then z [n] and dw [n]. @return w and dz, of softmax(z / temperature)
EMSCRIPTEN_KEEPALIVE int live_softmax() {
    return with_numbers([](In& in) {
        const Index n = in.whole();
        const auto temperature = static_cast<Real>(in.number());
        require(temperature > 0, "softmax: temperature {}, expected more than 0", temperature);
        Tensor z = in.tensor({n});
        for (Real& x : z.values()) x /= temperature;
        const Tensor dw = in.tensor({n}), w = softmax(z);
        Tensor dz = softmax_backward(dw, w);
        for (Real& x : dz.values()) x /= temperature;
        put(w);
        put(dz);
    });
}
// [positions]
/// Positions and d_model. @return the table [positions, d_model] and the frequencies [d_model / 2]
EMSCRIPTEN_KEEPALIVE int live_sinusoids() {
    return with_numbers([](In& in) {
        const Index positions = in.whole(), d_model = in.whole();
        put(sinusoid_table(positions, d_model));
        for (Index i = 0; i < d_model / 2; ++i) put(sinusoid_frequency(i, d_model));
    });
}
// [layer norm]
/// n, eps, gamma, beta (one number each, for all elements), then x [n] and dy [n].
/// @return y, dx, dgamma and dbeta, and how far dx is from differences
EMSCRIPTEN_KEEPALIVE int live_layer_norm() {
    return with_numbers([](In& in) {
        const Index n = in.whole();
        LayerNorm norm(n, {.eps = static_cast<Real>(in.number())});
        norm.gamma.value.fill(static_cast<Real>(in.number()));
        norm.beta.value.fill(static_cast<Real>(in.number()));
        const Tensor x = in.tensor({1, n}), dy = in.tensor({1, n});
        LayerNorm::Cache cache;
        put(norm.forward(x, &cache));
        const Tensor dx = norm.backward(dy, cache);
        for (const Tensor& t : {dx, norm.gamma.grad(), norm.beta.grad()}) put(t);
        put_difference([&] { return norm.forward(x); }, x, dx, dy);
    });
}
// [learning rate]
/// Steps, peak, warm-up. @return the rate of each step, from the first on
EMSCRIPTEN_KEEPALIVE int live_learning_rate() {
    return with_numbers([](In& in) {
        const Index steps = in.whole();
        const auto peak = static_cast<Real>(in.number());
        const Index warmup = in.whole();
        for (Index step = 1; step <= steps; ++step)
            put(static_cast<double>(learning_rate(step, peak, warmup)));
    });
}

}  // extern "C"
