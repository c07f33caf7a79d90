#include "chapters/12_where_the_time_goes/twins.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "chapters/09_training/optimizer.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "lib/eigen.hpp"
#include "lib/exp.hpp"
#include "lib/matmul.hpp"
#include "lib/parallel.hpp"

namespace abh {
namespace {
// [attention]
using Ways = std::pair<ResultWay, ResultWay>;

Tensor numbers(const Shape& shape, std::uint64_t seed = 1) {
    return normal(shape, Random(seed).stream());
}

/// Attention of 8 heads forward and backward: the sum of the result and the three gradients.
Ways attention_ways(Index sentences, Index length) {
    constexpr Index heads = 8;
    const Shape shape{sentences, length, 512};
    const Tensor q = numbers(shape, 1), k = numbers(shape, 2), v = numbers(shape, 3),
                 dy = numbers(shape, 4);
    const auto plain = [=] {
        AttentionCache cache;
        const Tensor y = join_heads(attention(split_heads(q, heads), split_heads(k, heads),
                                              split_heads(v, heads), {}, {}, &cache));
        const AttentionGradients d = attention_backward(split_heads(dy, heads), cache);
        return y + join_heads(d.dq) + join_heads(d.dk) + join_heads(d.dv);
    };
    const auto by_blocks = [=] {
        BlockAttentionCache cache;
        const Tensor y = attention_by_blocks(q, k, v, heads, {}, {}, &cache);
        const AttentionGradients d = attention_by_blocks_backward(dy, cache);
        return y + d.dq + d.dk + d.dv;
    };
    return {{plain}, {by_blocks}};
}
// [fused]
/// Residual sum, dropout and norm forward and backward, for 384 rows.
Ways add_norm_ways() {
    const Shape shape{384, 512};
    const Tensor x = numbers(shape, 1), sublayer = numbers(shape, 2), dy = numbers(shape, 3);
    Random random(5), same(5);
    const auto norm = std::make_shared<LayerNorm>(512);
    const auto dropout = std::make_shared<Dropout>(Real(0.1), random);
    const auto three_passes = [=] {
        LayerNorm::Cache norm_cache;
        Dropout::Cache dropout_cache;
        const Tensor y = norm->forward(x + dropout->forward(sublayer, &dropout_cache), &norm_cache);
        const Tensor dx = norm->backward(dy, norm_cache);
        return y + dx + dropout->backward(dx, dropout_cache);
    };
    const auto fused = std::make_shared<AddNorm>(512, AddNormOptions{.dropout = Real(0.1)}, same);
    const auto one_pass = [=] {
        AddNorm::Cache cache;
        const Tensor y = fused->after(x, sublayer, &cache);
        const AddNorm::Gradients d = fused->after_backward(dy, cache);
        return y + d.dx + d.dsublayer;
    };
    return {{three_passes}, {one_pass}};
}

Ways relu_ways() {
    Random random(1);
    const Linear linear(512, 2048, true, random);
    const Tensor x = numbers({384, 512});
    return {{[=] { return relu(linear.forward(x)); }}, {[=] { return linear.forward_relu(x); }}};
}
// [waiting gradients]
/// Sixteen weights of 512 x 2048, whose gradients are products of few rows, and their update.
struct Weights {
    static constexpr Index rows = 16, d_in = 512, d_out = 2048;
    std::vector<Parameter> weights;
    std::unique_ptr<Sgd> sgd;
    Tensor dy = numbers({rows, d_out}, 1), x = numbers({rows, d_in}, 2);

    Weights() {
        for (int i = 0; i < 16; ++i) weights.emplace_back(Tensor::zeros({d_out, d_in}));
        Parameters list;
        for (Parameter& p : weights) list.push_back({"w", &p});
        sgd = std::make_unique<Sgd>(list, Real(0.99));
    }
    Tensor step(bool multiplied_out) {
        for (Parameter& p : weights) {
            p.zero_grad();
            p.add_product(dy, x);
            if (multiplied_out) p.grad();
        }
        sgd->step(Real(1e-3));
        return weights.back().value;
    }
};

Ways update_ways() {
    const auto plain = std::make_shared<Weights>(), other = std::make_shared<Weights>();
    return {{[=] { return plain->step(true); }}, {[=] { return other->step(false); }}};
}
// [products]
/// `a b^T` on the calling thread.
Tensor on_one_thread(const Tensor& a, const Tensor& b) {
    Tensor c({a.dim(0), b.dim(0)});
    matmul_rows(c.data(), 0, a.dim(0), a, b, {.transpose_b = true}, false);
    return c;
}

[[maybe_unused]] Ways library_ways() {
    const Tensor a = numbers({384, 512}, 1), b = numbers({512, 512}, 2);
    const auto eigen = [=] {
        Tensor c({384, 512});
        matrix(c).noalias() = matrix(a) * matrix(b).transpose();
        return c;
    };
    return {{eigen}, {[=] { return on_one_thread(a, b); }}};
}

Ways thread_ways(int n) {
    const Tensor a = numbers({384, 512}, 1), b = numbers({2048, 512}, 2);
    const auto alone = [=] { return on_one_thread(a, b); };
    const auto all = [=] { return matmul(a, b, {.transpose_b = true}); };
    set_threads(n);
    return {{alone}, {all}};
}

#ifdef __SSE2__
/// A product whose left factor is too small to be a normal number: as it is, or set to zero.
Ways tiny_ways() {
    constexpr unsigned flush = 0x8040;  // results and operands
    const Tensor a = Tensor::full({128, 128}, std::numeric_limits<Real>::min() / 128);
    const Tensor b = numbers({128, 128});
    const auto way = [=](bool flushed) {
        return [=] {
            const unsigned before = _mm_getcsr();
            _mm_setcsr(flushed ? before | flush : before & ~flush);
            const Tensor c = on_one_thread(a, b);
            _mm_setcsr(before);
            return c;
        };
    };
    return {{way(false)}, {way(true)}};
}
#endif
// [decoding]
/// 24 words about 16, without and with a cache of keys and values.
Ways decoding_ways() {
    TransformerOptions o = TransformerOptions::article();
    o.layer.attention.d_model = 128;
    o.layer.attention.n_heads = 4;
    o.layer.d_ff = 256;
    o.n_encoder_layers = o.n_decoder_layers = 2;
    const auto model = std::make_shared<Transformer>(o, Random(1));
    const Ids src =
        random_ids({1, 16}, 1, static_cast<std::int32_t>(o.src_words), Random(2).stream());
    const DecodingOptions endless{.start = 1, .end = -1, .max_words = 24};
    const auto said = [](const Translation& t) {
        Tensor words({static_cast<Index>(t.ids.size())});
        std::transform(t.ids.begin(), t.ids.end(), words.data(),
                       [](std::int32_t id) { return static_cast<Real>(id); });
        return words;
    };
    return {{[=] { return said(greedy_decode(*model, src, endless)); }},
            {[=] { return said(greedy_decode_cached(*model, src, endless).front()); }}};
}
// [traps: memory and threads]
/// 64 MiB written: where the system has yet to give the pages, or where we have been before.
Ways page_ways() {
    constexpr std::size_t n = (std::size_t{1} << 26) / sizeof(Real);
    const auto kept = std::make_shared<std::vector<Real>>(n);
    const auto fresh = [] {
        const auto buffer = std::make_unique_for_overwrite<Real[]>(n);
        std::fill_n(buffer.get(), n, Real(1));
        return Tensor({1}, {buffer[n - 1]});
    };
    const auto again = [=] {
        std::fill(kept->begin(), kept->end(), Real(1));
        return Tensor({1}, {kept->back()});
    };
    return {{fresh}, {again}};
}

/// Two calls of nothing, shared among threads that sleep, or that have worked just before.
Ways wake_ways() {
    const auto share = [] {
        parallel_for(2, [](Index) {});
        return Tensor();
    };
    const auto doze = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    return {{share, doze}, {share, [=] { doze(), share(); }}};
}
// [traps: loops]
constexpr Index some = 1 << 15;

/// A mask of bytes. A byte may alias anything, also the pointers that the tensors hold: they are
/// fetched anew for each element, unless they stand in local variables.
Ways mask_ways() {
    const Tensor x = numbers({some});
    const auto kept = std::make_shared<Mask>(Shape{some});
    const auto as_tensor = [=] {
        return Tensor({3}, {static_cast<Real>((*kept)(0)), static_cast<Real>((*kept)(some / 2)),
                            static_cast<Real>((*kept)(some - 1))});
    };
    const auto through_tensors = [=] {
        for (Index i = 0; i < some; ++i) kept->data()[i] = x.data()[i] >= 0;
        return as_tensor();
    };
    const auto through_pointers = [=] {
        const Real* const from = x.data();
        std::uint8_t* const to = kept->data();
        for (Index i = 0; i < some; ++i) to[i] = from[i] >= 0;
        return as_tensor();
    };
    return {{through_tensors}, {through_pointers}};
}

/// A sum in the order of the numbers, each waiting for the one before, or Eigen's in lanes.
Ways sum_ways() {
    const Tensor x = uniform({some}, 0, 1, Random(1).stream());
    const auto in_order = [=] {
        Real sum = 0;
        for (const Real value : x.values()) sum += value;
        return Tensor({1}, {sum});
    };
    return {{in_order}, {[=] { return Tensor({1}, {vector(x).sum()}); }}};
}

/// Exponentials one by one, or as vectors.
Ways exp_ways() {
    const Tensor x = uniform({some}, -10, 0, Random(1).stream());
    const auto one_by_one = [=] {
        Tensor y({some});
        std::transform(x.values().begin(), x.values().end(), y.data(),
                       [](Real value) { return std::exp(value); });
        return y;
    };
    const auto many = [=] {
        Tensor y({some});
        exp_and_sum(x.data(), 0, y.data(), some);
        return y;
    };
    return {{one_by_one}, {many}};
}
// [traps: columns]
/// Sums of columns, four at a time: where a row is 8,192 bytes long, or 64 more.
Ways column_ways() {
    constexpr Index n_rows = 768, n = 2048, more = 16;
    const Tensor x = numbers({n_rows, n});
    Tensor padded({n_rows, n + more});
    matrix(padded).leftCols(n) = matrix(x);
    const auto sums = [](const Tensor& rows) {
        return [rows] {
            Tensor total({n});
            for (Index j = 0; j < n; j += 4) {
                Eigen::Array<Real, 4, 1> sum = Eigen::Array<Real, 4, 1>::Zero();
                for (Index i = 0; i < n_rows; ++i)
                    sum += Eigen::Map<const Eigen::Array<Real, 4, 1>>(&rows(i, j));
                Eigen::Map<Eigen::Array<Real, 4, 1>>(&total(j)) = sum;
            }
            return total;
        };
    };
    return {{sums(x)}, {sums(padded)}};
}
// [traps: blocks]
/// A product in 48 blocks of 8 rows: each of them arranges the right factor anew.
Ways block_ways() {
    const Tensor a = numbers({384, 512}, 1), b = numbers({512, 512}, 2);
    const auto in_blocks = [=] {
        Tensor c({384, 512});
        for (Index row = 0; row < 384; row += 8)
            matmul_rows(&c(row, 0), row, 8, a, b, {.transpose_b = true}, false);
        return c;
    };
    return {{in_blocks}, {[=] { return on_one_thread(a, b); }}};
}

}  // namespace
// [twins]
std::vector<Twins> optimizations() {
    std::vector<Twins> list{
        {"attention_24", "attention by blocks, 16 x 24 words",
         [] { return attention_ways(16, 24); }},
        {"attention_256", "attention by blocks, 1 x 256 words",
         [] { return attention_ways(1, 256); }},
        {"attention_1024", "attention by blocks, 1 x 1024 words",
         [] { return attention_ways(1, 1024); }, 5},
        {"add_norm", "sum, dropout, norm in one pass", add_norm_ways},
        {"relu", "ReLU with the bias", relu_ways},
        {"waiting", "gradients multiplied in the update", update_ways},
        {"decoding", "decoding with keys and values kept", decoding_ways},
    };
    if (products_by_library())
        list.push_back({"library", "product by oneDNN, not Eigen", library_ways});
    if (const int n = threads(); n > 1)
        list.push_back(
            {"threads", fmt::format("product on {} threads", n), [n] { return thread_ways(n); }});
#ifdef __SSE2__
    list.push_back({"tiny", "numbers below the normal set to 0", tiny_ways});
#endif
    return list;
}

std::vector<Twins> traps() {
    std::vector<Twins> list{
        {"pages", "64 MiB in fresh memory", page_ways},
        {"mask", "bytes written through an object", mask_ways},
        {"sum", "a sum in order", sum_ways},
        {"exp", "exponentials one by one", exp_ways},
        {"columns", "columns of rows of 8192 bytes", column_ways},
        {"blocks", "a product in 48 blocks", block_ways},
    };
    if (threads() > 1) list.push_back({"wake", "work for threads that sleep", wake_ways, 51});
    return list;
}

}  // namespace abh
