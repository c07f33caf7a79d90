#include "chapters/12_where_the_time_goes/operations.hpp"

#include <numeric>
#include <vector>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/relu.hpp"
#include "chapters/06_feed_forward/swish.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "chapters/09_training/loss/argmax.hpp"
#include "chapters/09_training/loss/vocabulary_loss.hpp"
#include "chapters/09_training/optimizer/optimizer.hpp"
#include "chapters/10_greedy_decoding/key_values.hpp"
#include "chapters/12_where_the_time_goes/limits.hpp"
#include "chapters/12_where_the_time_goes/works.hpp"
#include "lib/matmul.hpp"

namespace abh {
// [numbers]
namespace {

using Measure = MeasureOperation;
constexpr double real = sizeof(Real);

Tensor numbers(const Shape& shape, std::uint64_t seed = 1) {
    return normal(shape, Random(seed).stream());
}

/// The floor of products that read so many weights and pass so many activations.
Floor products(double multiply_adds, double weights, double activations) {
    return {multiply_adds, real * weights, 0, real * activations};
}
// [products]
void square_product(const Measure& measure) {
    constexpr double n = 512;
    const Tensor a = numbers({512, 512}, 1), b = numbers({512, 512}, 2);
    measure("matmul", "matrix product, 512 x 512", products(n * n * n, 0, 3 * n * n),
            [&] { matmul(a, b); });
}

/// From 512 numbers to 2048.
/// @param layers  take turns; of few rows, so many that no cache holds their weights
void linear_map(const Measure& measure, const std::vector<Linear>& layers, Index n_rows,
                bool with_relu = false) {
    const double maps = static_cast<double>(layers.size()), rows = static_cast<double>(n_rows);
    const double weights = static_cast<double>(layers[0].weight.value.size());
    const std::string name = fmt::format("linear map{}, {} row{}", with_relu ? ", ReLU" : "",
                                         n_rows, n_rows > 1 ? "s" : "");
    const Tensor x = numbers({n_rows, 512});
    measure(fmt::format("{}_{}", with_relu ? "relu" : "linear", n_rows), name,
            products(maps * rows * weights, maps * weights, maps * rows * (512 + 2048)), [&] {
                for (const Linear& map : layers) with_relu ? linear_relu(x, map) : map.forward(x);
            });
}

void linear_maps(const Measure& measure) {
    Random random(1);
    std::vector<Linear> layers;
    for (Index bytes = 0; bytes < stream_bytes(); bytes += 512 * 2048 * sizeof(Real))
        layers.emplace_back(512, 2048, true, random);
    for (const Index rows : {1, 4, 16}) linear_map(measure, layers, rows);
    layers.erase(layers.begin() + 8, layers.end());
    for (const Index rows : {64, 256, 1024}) linear_map(measure, layers, rows);
    linear_map(measure, layers, 256, true);
}
// [attention]
/// Forward and backward, 8 heads of 64 columns.
void attention(const Measure& measure, Index sentences, Index length, bool causal) {
    const double n = static_cast<double>(sentences * length), l = static_cast<double>(length);
    const double seen = causal ? (l + 1) / 2 : l;  // keys per query, on average
    const Shape shape{sentences, length, 512};
    const Tensor q = numbers(shape, 1), k = numbers(shape, 2), v = numbers(shape, 3),
                 dy = numbers(shape, 4);
    const AttentionMask mask = causal ? hide_future() : AttentionMask();
    measure(fmt::format("attention_{}{}", length, causal ? "_causal" : ""),
            fmt::format("attention, {} words{}", length, causal ? ", causal" : ""),
            products(6 * n * seen * 512, 0, 8 * n * 512), [&] {
                AttendHeadsCache cache;
                attend_heads(q, k, v, 8, mask, {}, &cache);
                attend_heads_backward(dy, cache);
            });
}

/// One query for each of 32 sentences over 128 kept keys, with 8 heads of 64 columns.
void one_query(const Measure& measure) {
    const double kept = 32.0 * 128 * 512;
    const KeyValues kv{numbers({32, 8, 128, 64}, 1), numbers({32, 8, 128, 64}, 2)};
    const Tensor q = numbers({32, 8, 1, 64}, 3);
    Ids sentences({32});
    std::iota(sentences.values().begin(), sentences.values().end(), 0);
    const Mask hidden = Mask::zeros({32, 1, 128, 1});
    measure("cached", "attention of one query", products(2 * kept, 0, 2 * kept),
            [&] { attend_cached(q, kv, 128, hidden, sentences, {}); });
}
// [passes]
/// Operations that read and write tensors of 8,192 rows, 512 wide.
void passes(const Measure& measure) {
    const Shape shape{8192, 512};
    const auto pass = [&](const char* key, const char* name, double tensors, const Work& work) {
        const double bytes = real * tensors * static_cast<double>(shape.size());
        measure(key, name, {.bytes_passed = bytes}, work);
    };
    const Tensor x = numbers(shape, 1), y = numbers(shape, 2), dy = numbers(shape, 3);
    Tensor sum(shape), sums = Tensor::zeros({512});
    pass("add", "sum of two tensors", 3, [&] { add(sum, x, y); });
    pass("column_sums", "sums of columns", 1, [&] { add_column_sums(sums, x); });
    pass("relu_backward", "ReLU's backward", 3, [&] { relu_backward(dy, y); });
    pass("swish", "swish, both passes", 5, [&] { swish(x), swish_backward(dy, x); });
    pass("normal", "normal random numbers", 1, [&] { numbers(shape); });
    pass("uniform", "uniform random numbers", 1,
         [&] { uniform(shape, -1, 1, Random(1).stream()); });
    pass("softmax", "softmax", 2, [&] { softmax(x); });

    Random random(1);
    LayerNorm norm(512);
    AddNorm layer(512, AddNormOptions{.dropout = Real(0.1)}, random);
    const Dropout dropout(Real(0.1), random);
    Mask kept;
    abh::dropout(x, dropout, kept);
    // x, y, and one byte of mask per element
    pass("dropout", "dropout 0.1", 2.25, [&] { abh::dropout(x, dropout, kept); });
    pass("dropout_backward", "dropout's backward", 2.25,
         [&] { dropout_backward(dy, dropout, kept); });
    pass("layer_norm", "layer norm, both passes", 6, [&] {
        LayerNorm::Cache cache;
        norm.forward(x, &cache);
        norm.backward(dy, cache);
    });
    pass("add_norm", "add & norm, both passes", 8.5, [&] {
        AddNorm::Cache cache;
        layer.after(x, y, &cache);
        layer.after_backward(dy, cache);
    });
}

/// For the scores of 32 sentences of 24 words in 8 heads, which stay in a cache, as they do in
/// training. If no cache could hold them, both ways would wait for memory.
void backward_of_softmax(const Measure& measure) {
    const Shape shape{32, 8, 24, 24};
    const double bytes = 3 * real * static_cast<double>(shape.size());
    const Tensor w = softmax(numbers(shape, 1)), dw = numbers(shape, 2);
    measure("softmax_backward", "softmax's backward, 24 keys", {.bytes_passed = bytes},
            [&] { softmax_backward(dw, w); });
}
// [words]
/// Rows of 8,000 logits.
void loss_of_logits(const Measure& measure) {
    const Tensor logits = numbers({1, 768, 8000});
    const Ids targets = random_ids({1, 768}, 1, 8000, Random(2).stream());
    measure("cross_entropy", "cross entropy, both passes", products(0, 0, 2 * 768.0 * 8000), [&] {
        CrossEntropyCache cache;
        cross_entropy(logits, targets, {}, &cache);
        cross_entropy_backward(cache);
    });
}

/// The output map, the loss, and both backward passes.
void loss_of_vocabulary(const Measure& measure) {
    const double weights = 8000.0 * 256;
    Random random(1);
    Linear output(256, 8000, true, random);
    const Tensor x = numbers({1, 1536, 256});
    const Ids targets = random_ids({1, 1536}, 1, 8000, Random(2).stream());
    measure("vocabulary_loss", "vocabulary loss, both passes",
            products(3 * 1536 * weights, 2 * weights, 2 * 1536.0 * 256), [&] {
                zero_grad(parameters_of(output));
                VocabularyLossCache cache;
                vocabulary_loss(x, output, targets, {}, &cache);
                vocabulary_loss_backward(output, cache);
                output.weight.grad();
            });
}

void argmax_of_logits(const Measure& measure) {
    const Tensor logits = numbers({1, 768, 8000});
    measure("argmax", "argmax of 8,000 words", products(0, 0, 768.0 * 8000),
            [&] { argmax(logits); });
}
// [optimizers]
/// A step for a parameter of 4096 x 2048 weights.
/// @param updated  how many numbers are read or written in place for each weight
template <class Kind, class... Options>
void step_of(const Measure& measure, const char* key, const char* name, double updated,
             Options... options) {
    const double weights = 4096.0 * 2048;
    Parameter w(numbers({4096, 2048}));
    w.grad().fill(Real(1e-3));
    Kind optimizer(Parameters{{"w", &w}}, options...);
    measure(key, name, {0, real * weights, real * updated * weights},
            [&] { optimizer.step(Real(1e-6)); });
}

/// Both gradients of a map that sees 16 rows, and its update by SGD with momentum.
void waiting_gradient(const Measure& measure) {
    const double weights = 4096.0 * 2048, both = 2 * 16 * weights;  // products, dW and dx
    Random random(1);
    Linear map(2048, 4096, false, random);
    Sgd sgd(parameters_of(map), Real(0.99));
    const Tensor x = numbers({16, 2048}, 1), dy = numbers({16, 4096}, 2);
    measure("waiting", "gradients of 16 rows, SGD", {both, 0, real * 4 * weights}, [&] {
        map.weight.zero_grad();
        map.backward(dy, {way(), x});
        sgd.step(Real(1e-6));
    });
}

/// Everything together: the toy's step, with forward, backward and update.
void whole_step(const Measure& measure) {
    const Step toy = toy_step();
    Transformer model(toy.options, Random(1));
    Trainer trainer(model, {.optimizer = "sgd"});
    const Batch batch = toy.batch(1);
    measure("whole_step", "the toy's step", toy.floor(), [&] { trainer.step(batch, Real(1e-6)); });
}

}  // namespace
// [all]
void measure_operations(const MeasureOperation& measure) {
    square_product(measure);
    linear_maps(measure);
    for (const bool causal : {false, true})
        for (const auto& [sentences, length] :
             {std::pair<Index, Index>{16, 24}, {4, 256}, {1, 1024}})
            attention(measure, sentences, length, causal);
    one_query(measure);
    passes(measure);
    backward_of_softmax(measure);
    loss_of_logits(measure);
    loss_of_vocabulary(measure);
    argmax_of_logits(measure);
    step_of<Adam>(measure, "adam", "Adam", 6);
    step_of<Sgd>(measure, "sgd", "SGD with momentum", 4, Real(0.99));
    waiting_gradient(measure);
    whole_step(measure);
}

}  // namespace abh
