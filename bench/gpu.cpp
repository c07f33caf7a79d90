// What bench/gpu measures: operations, training steps and decoding on the device, one JSON line
// each.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/11_on_the_gpu/ladder.cuh"
#include "chapters/11_on_the_gpu/variants.cuh"
#include "chapters/12_where_the_time_goes/works.hpp"
#include "lib/device.hpp"
#include "lib/matmul.hpp"
#include "lib/precision.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"

using namespace abh;

namespace {

/// A piece of work: its floating-point operations, and the least bytes that it must move.
struct DeviceWork {
    std::string name;
    double flops, bytes;
    std::function<std::function<void()>()> prepare;
};

double microseconds_of(const std::function<void()>& f) {
    synchronize();
    const double ms = milliseconds([&] {
        f();
        synchronize();
    });
    return 1000 * ms;
}

/// The time of one call, in each round. Calls are queued until they fill some milliseconds, because
/// waiting for each one would measure the waiting.
std::vector<double> microseconds_of_rounds(const std::function<void()>& f, int rounds) {
    f();
    const double once = microseconds_of(f);
    const int calls = static_cast<int>(std::clamp(5000 / once, 1.0, 200.0));
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i)
        times.push_back(microseconds_of([&] {
                            for (int c = 0; c < calls; ++c) f();
                        }) /
                        calls);
    return times;
}

Tensor numbers(const Shape& shape, std::uint64_t seed) {
    Random random(seed);
    return normal(shape, random.stream());
}

/// Attention with 8 heads of 64 columns, over as many sentences as make 16,384 queries.
std::vector<DeviceWork> attention_works(Index longest) {
    std::vector<DeviceWork> works;
    constexpr Index heads = 8, d_k = 64;
    for (Index length = 512; length <= std::max<Index>(longest, 512); length *= 2)
        for (const bool causal : {false, true}) {
            const Index l = std::min(length, longest);
            const Index batch = std::max<Index>(1, std::min<Index>(longest, 16384) / l);
            const double flops =
                4.0 * static_cast<double>(batch * heads * l * l * d_k) * (causal ? 0.5 : 1.0);
            const double bytes = 4.0 * sizeof(Real) * static_cast<double>(batch * l * heads * d_k);
            const auto inputs = [=] {
                struct {
                    Tensor q, k, v;
                    AttentionMask mask;
                } in;
                in.q = numbers({batch, l, heads * d_k}, 1);
                in.k = numbers(in.q.shape(), 2);
                in.v = numbers(in.q.shape(), 3);
                in.mask.causal = causal;
                return in;
            };
            const std::string tail = fmt::format("{}_{}", causal ? "causal" : "full", l);
            works.push_back({"attention_forward_" + tail, flops, bytes, [=] {
                                 return [in = inputs()] {
                                     attend_heads(in.q, in.k, in.v, heads, in.mask);
                                 };
                             }});
            works.push_back({"attention_backward_" + tail, 2.5 * flops, 2 * bytes, [=] {
                                 const auto in = inputs();
                                 AttendHeadsCache cache;
                                 const Tensor y =
                                     attend_heads(in.q, in.k, in.v, heads, in.mask, {}, &cache);
                                 return [cache, dy = numbers(y.shape(), 4)] {
                                     attend_heads_backward(dy, cache);
                                 };
                             }});
        }
    return works;
}

/// The words of a batch, one for each row of logits.
Ids words_of(Index rows, Index n_words) {
    Random random(5);
    return random_ids({1, rows}, 1, static_cast<std::int32_t>(n_words), random.stream());
}

/// Passes over memory, and a copy to compare them with. A tensor should be four times as large as
/// the device's L2, so that nothing is found there.
std::vector<DeviceWork> pass_works(Index rows, Index width) {
    const Shape shape{rows, width};
    const double bytes = static_cast<double>(rows * width * static_cast<Index>(sizeof(Real)));
    return {
        {"copy", 0, 2 * bytes,
         [=] {
             const Tensor x = numbers(shape, 1);
             x.on_device();  // so that the device makes the copy
             return [=] { x.clone(); };
         }},
        {"softmax_forward", 0, 2 * bytes, [=] { return [x = numbers(shape, 1)] { softmax(x); }; }},
        {"softmax_backward", 0, 3 * bytes,
         [=] {
             return [y = softmax(numbers(shape, 1)), dy = numbers(shape, 2)] {
                 softmax_backward(dy, y);
             };
         }},
        {"layer_norm_forward", 0, 2 * bytes,  // keeps nothing for backward
         [=] {
             return [x = numbers(shape, 1), norm = std::make_shared<LayerNorm>(width)] {
                 norm->forward(x);
             };
         }},
        {"layer_norm_backward", 0, 3 * bytes,
         [=] {
             const auto norm = std::make_shared<LayerNorm>(width);
             const auto cache = std::make_shared<LayerNorm::Cache>();
             norm->forward(numbers(shape, 1), cache.get());
             return [norm, cache, dy = numbers(shape, 2)] { norm->backward(dy, *cache); };
         }},
        {"cross_entropy_forward", 0, bytes,
         [=] {
             return [x = numbers({1, rows, width}, 1), ids = words_of(rows, width)] {
                 cross_entropy(x, ids);
             };
         }},
        {"cross_entropy_backward", 0, 2 * bytes,
         [=] {
             const auto cache = std::make_shared<CrossEntropyCache>();
             cross_entropy(numbers({1, rows, width}, 1), words_of(rows, width), {}, cache.get());
             return [cache] { cross_entropy_backward(*cache); };
         }},
        {"adam", 0,
         7 * bytes,  // reads weight, gradient and both means; writes all but the gradient
         [=] {
             const auto weight = std::make_shared<Parameter>(numbers(shape, 1));
             weight->grad() = numbers(shape, 2);
             const auto adam = std::make_shared<Adam>(Parameters{{"weight", weight.get()}});
             return [weight, adam] { adam->step(Real(1e-4)); };
         }},
    };
}

/// A product of square matrices, by the way or by a rung of chapter 11's ladder.
DeviceWork product_work(const std::string& name, Index n,
                        const std::function<Tensor(const Tensor&, const Tensor&)>& multiply) {
    const double size = static_cast<double>(n);
    return {fmt::format("{}_{}", name, n), 2 * size * size * size, 0, [=] {
                return [=, a = numbers({n, n}, 1), b = numbers({n, n}, 2)] { multiply(a, b); };
            }};
}

std::vector<DeviceWork> product_works(bool tiny) {
    const auto by_library = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
    const Index n = tiny ? 128 : 4096;  // whole tiles
    std::vector<DeviceWork> works{product_work("product", n, by_library),
                                  product_work("product", tiny ? 16 : 8192, by_library)};
    for (const auto& [rung, key, name] : cuda::rungs)
        works.push_back(product_work(
            fmt::format("ladder_{}", key), n,
            [rung = rung](const Tensor& a, const Tensor& b) { return cuda::product(a, b, rung); }));
    return works;
}

/// Chapter 11's variants, on tensors of 256 MB.
std::vector<DeviceWork> variant_works(Index rows, Index width) {
    using cuda::Turn, cuda::Sum, cuda::Passes;
    using Variant = std::function<Tensor(const Tensor&)>;
    const double bytes = static_cast<double>(rows * width * static_cast<Index>(sizeof(Real)));
    std::vector<DeviceWork> works;
    const auto add = [&](const char* name, double tensors, const Variant& variant) {
        works.push_back({name, 0, tensors * bytes, [=] {
                             return [=, x = numbers({rows, width}, 1)] { variant(x); };
                         }});
    };
    for (const auto& [name, together] : {std::pair("variant_copy_1", 1),
                                         {"variant_copy_2", 2},
                                         {"variant_copy_8", 8},
                                         {"variant_copy_32", 32}})
        add(name, 2, [n = together](const Tensor& x) { return cuda::copy(x, n); });
    for (const auto& [name, turn] : {std::pair("variant_turn_plain", Turn::on_the_way),
                                     {"variant_turn_tile", Turn::tile},
                                     {"variant_turn_padded", Turn::padded_tile}})
        add(name, 2, [t = turn](const Tensor& x) { return cuda::transpose(x, t); });
    for (const auto& [name, sum] :
         {std::pair("variant_sum_tree", Sum::tree), {"variant_sum_warps", Sum::warps}})
        add(name, 1, [w = sum](const Tensor& x) { return cuda::row_sums(x, w); });
    for (const auto& [name, passes] :
         {std::pair("variant_softmax_three", Passes::three), {"variant_softmax_two", Passes::two}})
        add(name, 2, [p = passes](const Tensor& x) { return cuda::softmax(x, p); });
    return works;
}

/// Backward of a map from 512 numbers to 512, as most of the base model's, with a bias, whose
/// gradient may be summed up along with the product, and without one.
std::vector<DeviceWork> gradient_works(Index rows) {
    std::vector<DeviceWork> works;
    for (const bool bias : {true, false})
        works.push_back({bias ? "gradient_and_sums" : "gradient",
                         2 * 2 * static_cast<double>(rows) * 512 * 512, 0, [=] {
                             Random random(1);
                             const auto map = std::make_shared<Linear>(512, 512, bias, random);
                             const Tensor x = numbers({rows, 512}, 1), dy = numbers({rows, 512}, 2);
                             return [=] {
                                 zero_grad(parameters_of(*map));
                                 map->backward(dy, {Way::cuda, x});
                                 map->weight.grad();
                             };
                         }});
    return works;
}

/// A whole step of training on sentences of one length.
class Training {
public:
    Training(const TransformerOptions& o, Index sentences, Index words, bool adam)
        : model_(o, Random(1)),
          trainer_(model_, {.optimizer = adam ? "adam" : "sgd"}),
          batch_(random_batch(o, sentences, words, words, 2)) {}

    void step() { trainer_.step(batch_, Real(1e-4)); }

private:
    Transformer model_;
    Trainer trainer_;
    Batch batch_;
};

TransformerOptions base_model(bool tiny) {
    TransformerOptions o = TransformerOptions::article();
    o.src_words = o.tgt_words = tiny ? 50 : 8000;
    if (tiny) {
        o.layer.attention.d_model = 32;
        o.layer.attention.n_heads = 2;
        o.layer.d_ff = 64;
        o.n_encoder_layers = o.n_decoder_layers = 1;
    }
    return o;
}

TransformerOptions toy_model(bool tiny) {
    TransformerOptions o = TransformerOptions::toy();
    o.src_words = o.tgt_words = 20;
    if (tiny) {
        o.layer = base_model(true).layer;
        o.n_encoder_layers = o.n_decoder_layers = 1;
    }
    return o;
}

std::vector<DeviceWork> model_works(bool tiny) {
    const auto training = [](const TransformerOptions& o, Index sentences, Index words, bool adam) {
        return [=] {
            const auto run = std::make_shared<Training>(o, sentences, words, adam);
            return [run] { run->step(); };
        };
    };
    const Index batch = tiny ? 2 : 64, words = tiny ? 5 : 64;
    const double rows = static_cast<double>(batch * words);
    const double flops = 3 * 2 * rows * (18 * 4 * 512.0 * 512 + 24 * 512.0 * 2048 + 512 * 8000.0);
    return {{"base_step", tiny ? 0 : flops, 0, training(base_model(tiny), batch, words, true)},
            {"toy_step", 0, 0, training(toy_model(tiny), 2, 8, false)},
            {"base_decode", 0, 0, [=] {
                 const auto model = std::make_shared<Transformer>(base_model(tiny), Random(1));
                 Random random(3);
                 const Index sentences = tiny ? 2 : 32, length = tiny ? 4 : 24;
                 const Ids src = random_ids({sentences, length}, 2,
                                            static_cast<std::int32_t>(model->options().src_words),
                                            random.stream());
                 const DecodingOptions o{.start = 1, .end = -1, .max_words = length};
                 return [=] { greedy_decode_cached(*model, src, o); };
             }}};
}

/// Whether a name begins with one of these, which commas divide.
bool begins_with_one_of(const std::string& name, const std::string& beginnings) {
    std::istringstream all(beginnings);
    std::string one;
    while (std::getline(all, one, ','))
        if (name.starts_with(one)) return true;
    return beginnings.empty();
}

}  // namespace

int main(int argc, char** argv) {
    bool tiny = false;
    int rounds = 7;
    std::string only;
    Program program("Measure works on the device, and print a JSON line for each", "cuda");
    program.options().flag("--tiny", tiny, "small sizes, to try this program on the emulator");
    program.options().add("--rounds", rounds, "rounds, whose times are printed").range(1, 1000);
    program.options().add("--only", only,
                          "only works whose name begins with this, or with one of these: a,b");
    program.add_precision();
    return program.run(argc, argv, [&] {
        program.use_precision();
        std::vector<DeviceWork> works = pass_works(tiny ? 5 : 65536, tiny ? 40 : 1024);
        for (const auto& more :
             {product_works(tiny), variant_works(tiny ? 32 : 65536, tiny ? 64 : 1024),
              gradient_works(tiny ? 5 : 4096), attention_works(tiny ? 40 : 16384),
              model_works(tiny)})
            works.insert(works.end(), more.begin(), more.end());
        for (const DeviceWork& work : works) {
            if (!begins_with_one_of(work.name, only)) continue;
            nlohmann::json line{{"name", work.name}, {"device", device_name()}};
            if (precision() != Precision::single) line["precision"] = to_string(precision());
            try {
                line["us"] = microseconds_of_rounds(work.prepare(), rounds);
                if (work.flops > 0) line["flops"] = work.flops;
                if (work.bytes > 0) line["bytes"] = work.bytes;
            } catch (const std::runtime_error& error) {
                line["error"] = error.what();
            }
            fmt::print("{}\n", line.dump());
            std::fflush(stdout);
        }
    });
}
