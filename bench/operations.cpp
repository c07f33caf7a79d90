// Single operations, each with the bytes that it must move and the floating-point operations that
// it must do. Google Benchmark prints both as rates, together with the rates that memory itself
// reaches (read, copy, update).
//
//     bench_operations [GOOGLE BENCHMARK'S OPTIONS] [THREADS ...]
#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "chapters/02_positional_encoding/dropout.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"
#include "chapters/09_training/loss/loss.hpp"
#include "chapters/09_training/optimizer/optimizer.hpp"
#include "chapters/12_where_the_time_goes/limits.hpp"
#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/matmul.hpp"

using namespace abh;

namespace {

using Run = std::function<void()>;
using Prepare = std::function<Run()>;
std::vector<int> thread_counts;

/// The least that one run of an operation moves and computes.
struct Cost {
    Index bytes = 0;
    Index flops = 0;
};

/// Registers an operation for each number of threads. Only one operation has data at a time.
void operation(const std::string& name, Cost cost, const Prepare& prepare) {
    static std::string current;
    static Run run;
    for (int n : thread_counts) {
        const auto body = [=](benchmark::State& state) {
            set_threads(n);
            if (current != name) {
                run = nullptr;
                run = prepare();
                current = name;
            }
            run();
            for ([[maybe_unused]] auto step : state) run();
            const auto rate = [&](Index amount) {
                return benchmark::Counter(static_cast<double>(amount),
                                          benchmark::Counter::kIsIterationInvariantRate);
            };
            if (cost.bytes) state.counters["bytes_per_second"] = rate(cost.bytes);
            if (cost.flops) state.counters["flops_per_second"] = rate(cost.flops);
        };
        benchmark::RegisterBenchmark(fmt::format("{}/threads:{}", name, n).c_str(), body)
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
    }
}

Tensor random_tensor(const Shape& shape, std::uint64_t seed = 1) {
    return uniform(shape, -1, 1, Random(seed).stream());
}

constexpr Index real = sizeof(Real);
constexpr Index large = Index{1} << 24;  // elements

// What memory reaches: the floor of everything else.
void memory() {
    constexpr Index part = 1 << 15;
    static const Index huge = stream_bytes() / real / part * part;  // elements
    operation("read", {huge * real}, [] {
        const Tensor x = Tensor::full({huge}, 1);
        return [=] {
            std::vector<Real> sums(static_cast<std::size_t>(huge / part));
            parallel_ranges(huge, part, [&](Index begin, Index end) {
                sums[static_cast<std::size_t>(begin / part)] =
                    vector(x).segment(begin, end - begin).sum();
            });
            benchmark::DoNotOptimize(sums.data());
        };
    });
    operation("copy", {2 * huge * real}, [] {
        const Tensor x = Tensor::full({huge}, 1);
        Tensor y = x.clone();
        return [=]() mutable {
            constexpr Index block = 1 << 20;  // long enough for memcpy to bypass the cache
            parallel_ranges(huge, block, [&](Index begin, Index end) {
                std::memcpy(y.data() + begin, x.data() + begin,
                            static_cast<std::size_t>((end - begin) * real));
            });
        };
    });
    operation("update", {2 * huge * real}, [] {
        Tensor x = Tensor::full({huge}, 1);
        return [=]() mutable {
            parallel_ranges(huge, part, [&](Index begin, Index end) {
                auto y = vector(x).segment(begin, end - begin);
                y.array() = Real(0.5) * y.array() + Real(0.25);
            });
        };
    });
}

void softmaxes() {
    const auto forward = [](const Shape& shape, const std::string& name) {
        operation("softmax/" + name, {2 * shape.size() * real}, [=] {
            const Tensor x = random_tensor(shape);
            return [=] { softmax(x); };
        });
        operation("softmax_backward/" + name, {3 * shape.size() * real}, [=] {
            const Tensor y = softmax(random_tensor(shape)), dy = random_tensor(shape, 2);
            return [=] { softmax_backward(dy, y); };
        });
    };
    forward({32, 8, 24, 24}, "scores_32x8x24x24");
    forward({768, 8000}, "words_768x8000");
    forward({large / 1024, 1024}, "large_16384x1024");
}

void layer_norms() {
    for (Index d_model : {512, 1024}) {
        const Index n_rows = d_model == 512 ? 768 : large / d_model, n = n_rows * d_model;
        const std::string size = fmt::format("{}x{}", n_rows, d_model);
        const auto norm = std::make_shared<LayerNorm>(d_model);
        operation("layer_norm/" + size, {2 * n * real}, [=] {
            const Tensor x = random_tensor({n_rows, d_model});
            return [=] { norm->forward(x); };
        });
        // reads x and writes y; what it keeps for backward could be x itself
        operation("layer_norm_training/" + size, {2 * n * real}, [=] {
            const Tensor x = random_tensor({n_rows, d_model});
            return [=] {
                LayerNorm::Cache cache;
                norm->forward(x, &cache);
            };
        });
        operation("layer_norm_backward/" + size, {3 * n * real}, [=] {
            const Tensor dy = random_tensor({n_rows, d_model}, 2);
            LayerNorm::Cache cache;
            norm->forward(random_tensor({n_rows, d_model}), &cache);
            return [=] { norm->backward(dy, cache); };
        });
    }
}

// Forward reads the logits; backward reads them, or what forward kept, and writes their gradient.
void cross_entropies() {
    constexpr Index n_rows = 768, n = 8000;
    const auto targets = [] { return random_ids({1, n_rows}, 1, n, Random(3).stream()); };
    operation("cross_entropy/768x8000", {n_rows * n * real}, [=] {
        const Tensor logits = random_tensor({1, n_rows, n});
        const Ids ids = targets();
        return [=] {
            CrossEntropyCache cache;
            cross_entropy(logits, ids, {}, &cache);
        };
    });
    operation("cross_entropy_backward/768x8000", {2 * n_rows * n * real}, [=] {
        CrossEntropyCache cache;
        cross_entropy(random_tensor({1, n_rows, n}), targets(), {}, &cache);
        return [=] { cross_entropy_backward(cache); };
    });
}

// The mask is a function of the position, so it can be computed again and need not be stored.
void dropouts() {
    for (const Shape& shape : {Shape{768, 512}, Shape{large / 1024, 1024}}) {
        const std::string size = fmt::format("{}x{}", shape[0], shape[1]);
        Random random(1);
        const Dropout dropout(Real(0.1), random);
        operation("dropout/" + size, {2 * shape.size() * real}, [=] {
            const Tensor x = random_tensor(shape);
            return [=] {
                Dropout::Cache cache;
                dropout.forward(x, &cache);
            };
        });
        operation("dropout_backward/" + size, {2 * shape.size() * real}, [=] {
            const Tensor x = random_tensor(shape);
            Dropout::Cache cache;
            dropout.forward(x, &cache);
            return [=] { dropout.backward(x, cache); };
        });
    }
}

// 2,048 tokens in sentences of one length; two products forward and four backward.
void attentions() {
    constexpr Index n_heads = 8, d_k = 64, tokens = 2048;
    for (Index length = 16; length <= tokens; length *= 2) {
        const Shape shape{tokens / length, n_heads, length, d_k};
        const Index product = 2 * shape.size() * length;
        const std::string size = fmt::format("length_{}", length);
        const auto inputs = [=] {
            return std::array{random_tensor(shape, 1), random_tensor(shape, 2),
                              random_tensor(shape, 3)};
        };
        operation("attention/" + size, {4 * shape.size() * real, 2 * product}, [=] {
            const auto [q, k, v] = inputs();
            return [a = q, b = k, c = v] { attention(a, b, c, {}); };
        });
        operation("attention_backward/" + size, {7 * shape.size() * real, 4 * product}, [=] {
            const auto [q, k, v] = inputs();
            AttentionCache cache;
            attention(q, k, v, {}, {}, &cache);
            return [cache, dy = q] { attention_backward(dy, cache); };
        });
    }
}

/// The product of a linear map of these sizes forward, and if `backward`, those for `dx` and `dW`.
void linear_products(Index n_rows, Index d_in, Index d_out, bool backward) {
    const Cost cost{(n_rows * d_in + n_rows * d_out + d_in * d_out) * real,
                    2 * n_rows * d_in * d_out};
    const auto add = [&](const char* what, const Shape& a, const Shape& b, MatmulOptions o) {
        operation(fmt::format("matmul_{}/{}x{}x{}", what, n_rows, d_in, d_out), cost, [=] {
            const Tensor left = random_tensor(a, 1), right = random_tensor(b, 2);
            return [=] { matmul(left, right, o); };
        });
    };
    add("y", {n_rows, d_in}, {d_out, d_in}, {.transpose_b = true});
    if (!backward) return;
    add("dx", {n_rows, d_out}, {d_out, d_in}, {});
    add("dw", {n_rows, d_out}, {n_rows, d_in}, {.transpose_a = true});
}

void products() {
    linear_products(1024, 1024, 1024, false);
    for (const auto& [d_in, d_out] : {std::pair{512, 512}, {512, 2048}, {2048, 512}, {512, 8000}})
        linear_products(768, d_in, d_out, true);  // base: 32 sentences of 24 words
    for (const auto& [d_in, d_out] : {std::pair{256, 256}, {256, 1024}, {256, 8000}})
        linear_products(1536, d_in, d_out, true);  // small: 64 sentences
    linear_products(14, 512, 2048, true);          // toy
    linear_products(32, 512, 2048, false);         // decoding, one word of each sentence
    linear_products(1, 512, 2048, false);          // decoding, one sentence
}

// The update of 16 million weights whose gradient is in memory.
template <class Method>
void optimizer(const std::string& name, Index streams) {
    operation(name, {streams * large * real}, [] {
        const auto p = std::make_shared<Parameter>(random_tensor({large / 1024, 1024}));
        p->grad().fill(Real(1e-3));
        const auto method = [&] {
            if constexpr (std::is_same_v<Method, Sgd>)
                return std::make_shared<Sgd>(Parameters{{"w", p.get()}}, Real(0.99));
            else
                return std::make_shared<Adam>(Parameters{{"w", p.get()}});
        }();
        return [=] {
            p->grad();
            method->step(Real(1e-6));
        };
    });
}

void register_all() {
    memory();
    softmaxes();
    layer_norms();
    cross_entropies();
    dropouts();
    attentions();
    products();
    optimizer<Sgd>("sgd", 5);    // reads w, v, g; writes w, v
    optimizer<Adam>("adam", 7);  // reads w, m, v, g; writes w, m, v
}

}  // namespace

int main(int argc, char** argv) {
    try {
        benchmark::Initialize(&argc, argv);
        for (int i = 1; i < argc; ++i) {
            const std::string text = argv[i];
            int n = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
            require(error == std::errc() && end == text.data() + text.size(),
                    "{}: expected an option or a number of threads", text);
            set_threads(n);  // throws if n is out of range
            thread_counts.push_back(n);
        }
        if (thread_counts.empty()) thread_counts = {1, 2};
        register_all();
        benchmark::RunSpecifiedBenchmarks();
        benchmark::Shutdown();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_operations: %s\n", error.what());
        return 1;
    }
}
