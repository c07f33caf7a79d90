#include "chapters/12_where_the_time_goes/operations.hpp"

#include <memory>
#include <numeric>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/05_multi_head_attention/heads.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/relu.hpp"
#include "chapters/06_feed_forward/swish.hpp"
#include "chapters/09_training/argmax.hpp"
#include "chapters/09_training/optimizer.hpp"
#include "chapters/09_training/training.hpp"
#include "chapters/09_training/vocabulary_loss.hpp"
#include "chapters/10_greedy_decoding/key_values.hpp"
#include "chapters/12_where_the_time_goes/works.hpp"
#include "lib/matmul.hpp"

namespace abh {
// [numbers]
namespace {

constexpr double real = sizeof(Real);

Tensor numbers(const Shape& shape, std::uint64_t seed = 1) {
    return normal(shape, Random(seed).stream());
}

/// A pass over memory, which reads or writes so many numbers.
Operation pass(double numbers) {
    return {"", {}, real * numbers};
}

/// Products of so many multiply-adds; weights are read, activations passed.
Operation products(double multiply_adds, double weights, double activations) {
    return {"", {multiply_adds, real * weights, 0}, real * activations};
}
// [products]
MeasuredOperation square_product() {
    constexpr double n = 512;
    return {"matmul", "matrix product, 512 x 512", products(n * n * n, 0, 3 * n * n), [] {
                const Tensor a = numbers({512, 512}, 1), b = numbers({512, 512}, 2);
                return Work([=] { matmul(a, b); });
            }};
}

/// Eight maps in turn, so that weights come from memory.
MeasuredOperation linear_map(Index n_rows, bool with_relu) {
    constexpr Index d_in = 512, d_out = 2048, maps = 8;
    const double rows = static_cast<double>(n_rows), weights = d_in * d_out;
    const std::string name = fmt::format("linear map{}, {} row{}", with_relu ? ", ReLU" : "",
                                         n_rows, n_rows > 1 ? "s" : "");
    return {fmt::format("{}_{}", with_relu ? "relu" : "linear", n_rows), name,
            products(maps * rows * weights, maps * weights, maps * rows * (d_in + d_out)), [=] {
                Random random(1);
                const auto layers = std::make_shared<std::vector<Linear>>();
                for (Index i = 0; i < maps; ++i) layers->emplace_back(d_in, d_out, true, random);
                const Tensor x = numbers({n_rows, d_in});
                return Work([=] {
                    for (const Linear& map : *layers)
                        with_relu ? linear_relu(x, map) : map.forward(x);
                });
            }};
}
// [attention]
/// Forward and backward, 8 heads of 64 columns.
MeasuredOperation attention(Index sentences, Index length, bool causal) {
    const double n = static_cast<double>(sentences * length), l = static_cast<double>(length);
    const double seen = causal ? (l + 1) / 2 : l;  // keys of a query, in the mean
    return {fmt::format("attention_{}{}", length, causal ? "_causal" : ""),
            fmt::format("attention, {} words{}", length, causal ? ", causal" : ""),
            products(6 * n * seen * 512, 0, 8 * n * 512), [=] {
                const Shape shape{sentences, length, 512};
                const Tensor q = numbers(shape, 1), k = numbers(shape, 2), v = numbers(shape, 3),
                             dy = numbers(shape, 4);
                AttentionMask mask;
                mask.causal = causal;
                return Work([=] {
                    AttendHeadsCache cache;
                    attend_heads(q, k, v, 8, mask, {}, &cache);
                    attend_heads_backward(dy, cache);
                });
            }};
}

/// One query of each of 32 sentences over 128 kept keys, 8 heads of 64 columns.
MeasuredOperation one_query() {
    const double kept = 32.0 * 128 * 512;
    return {"cached", "attention of one query", products(2 * kept, 0, 2 * kept), [] {
                const KeyValues kv{numbers({32, 8, 128, 64}, 1), numbers({32, 8, 128, 64}, 2)};
                const Tensor q = numbers({32, 8, 1, 64}, 3);
                Ids sentences({32});
                std::iota(sentences.values().begin(), sentences.values().end(), 0);
                const Mask hidden = Mask::zeros({32, 1, 128, 1});
                return Work([=] { attend_cached(q, kv, 128, hidden, sentences, {}); });
            }};
}
// [passes]
constexpr Index n_rows = 8192, width = 512;
constexpr double n_numbers = n_rows * width;

MeasuredOperation added() {
    return {"add", "sum of two tensors", pass(3 * n_numbers), [] {
                const Tensor a = numbers({n_rows, width}, 1), b = numbers({n_rows, width}, 2);
                Tensor sum(a.shape());
                return Work([=]() mutable { add(sum, a, b); });
            }};
}

MeasuredOperation columns_added() {
    return {"column_sums", "sums of columns", pass(n_numbers), [] {
                const Tensor x = numbers({n_rows, width});
                Tensor sums = Tensor::zeros({width});
                return Work([=]() mutable { add_column_sums(sums, x); });
            }};
}

MeasuredOperation measured_relu() {
    return {"relu", "ReLU", pass(2 * n_numbers), [] {
                const Tensor x = numbers({n_rows, width});
                return Work([=] { relu(x); });
            }};
}

MeasuredOperation measured_relu_backward() {
    return {
        "relu_backward", "ReLU's backward", pass(3 * n_numbers), [] {
            const Tensor y = relu(numbers({n_rows, width}, 1)), dy = numbers({n_rows, width}, 2);
            return Work([=] { relu_backward(dy, y); });
        }};
}

/// Forward and backward.
MeasuredOperation swished() {
    return {"swish", "swish, both passes", pass(5 * n_numbers), [] {
                const Tensor x = numbers({n_rows, width}, 1), dy = numbers({n_rows, width}, 2);
                return Work([=] {
                    swish(x);
                    swish_backward(dy, x);
                });
            }};
}

/// Sentences of 128 words become heads of 64 columns, and sentences again.
MeasuredOperation split_and_joined() {
    return {"heads", "heads split and joined", pass(4 * n_numbers), [] {
                const Tensor x = numbers({n_rows / 128, 128, width});
                return Work([=] { join_heads(split_heads(x, width / 64)); });
            }};
}

MeasuredOperation transposed() {
    return {"transpose", "transpose", pass(2 * n_numbers), [] {
                const Tensor x = numbers({n_rows, width});
                return Work([=] { transpose(x); });
            }};
}

/// Sentences of 128 words. The table of positions stays in a cache.
MeasuredOperation positioned() {
    return {"positions", "positions", pass(2 * n_numbers), [] {
                Random random(1);
                const auto positions = std::make_shared<PositionalEncoding>(
                    width, PositionalEncodingOptions{}, random);
                const Tensor x = numbers({n_rows / 128, 128, width});
                return Work([=] { positions->forward(x); });
            }};
}

/// Forward and backward. Rows of the table are read, and rows of its gradient are changed.
MeasuredOperation measured_embedding() {
    return {"embedding", "embedding, both passes", pass(5 * n_numbers), [] {
                Random random(1);
                const auto words =
                    std::make_shared<Embedding>(8000, width, EmbeddingOptions{}, random);
                const Ids ids = random_ids({n_rows / 128, 128}, 0, 8000, Random(2).stream());
                const Tensor dy = numbers({n_rows / 128, 128, width}, 3);
                words->table.grad();
                return Work([=] {
                    Embedding::Cache cache;
                    words->forward(ids, &cache);
                    words->backward(dy, cache);
                });
            }};
}

MeasuredOperation drawn() {
    return {"normal", "normal random numbers", pass(n_numbers), [] {
                return Work([] { numbers({n_rows, width}); });
            }};
}

MeasuredOperation drawn_evenly() {
    return {"uniform", "uniform random numbers", pass(n_numbers), [] {
                return Work([] { uniform({n_rows, width}, -1, 1, Random(1).stream()); });
            }};
}

MeasuredOperation softmax_of_rows() {
    return {"softmax", "softmax", pass(2 * n_numbers), [] {
                const Tensor x = numbers({n_rows, width});
                return Work([=] { softmax(x); });
            }};
}

/// Of the scores of 32 sentences of 24 words, in 8 heads: they stay in a cache, as in training. Of
/// what no cache holds both ways wait for the memory.
MeasuredOperation softmax_of_rows_backward() {
    const double scores = 32 * 8 * 24 * 24;
    return {"softmax_backward", "softmax's backward, 24 keys", pass(3 * scores), [] {
                const Shape shape{32, 8, 24, 24};
                const Tensor y = softmax(numbers(shape, 1)), dy = numbers(shape, 2);
                return Work([=] { softmax_backward(dy, y); });
            }};
}

MeasuredOperation dropped() {
    return {"dropout", "dropout 0.1", pass(2.25 * n_numbers), [] {  // x, y, and a byte of kept
                Random random(1);
                const Dropout dropout(Real(0.1), random);
                const Tensor x = numbers({n_rows, width});
                return Work([=] {
                    Dropout::Cache cache;
                    dropout.forward(x, &cache);
                });
            }};
}

MeasuredOperation dropped_backward() {
    return {"dropout_backward", "dropout's backward", pass(2.25 * n_numbers), [] {
                Random random(1);
                const Dropout dropout(Real(0.1), random);
                const Tensor dy = numbers({n_rows, width});
                Dropout::Cache cache;
                dropout.forward(dy, &cache);
                return Work([=] { dropout_backward(dy, dropout, cache.kept); });
            }};
}

/// Forward and backward.
MeasuredOperation normed() {
    return {"layer_norm", "layer norm, both passes", pass(6 * n_numbers), [] {
                const auto norm = std::make_shared<LayerNorm>(width);
                const Tensor x = numbers({n_rows, width}, 1), dy = numbers({n_rows, width}, 2);
                return Work([=] {
                    LayerNorm::Cache cache;
                    norm->forward(x, &cache);
                    norm->backward(dy, cache);
                });
            }};
}

MeasuredOperation added_and_normed() {
    return {"add_norm", "add & norm, both passes", pass(8.5 * n_numbers), [] {
                Random random(1);
                const auto layer =
                    std::make_shared<AddNorm>(width, AddNormOptions{.dropout = Real(0.1)}, random);
                const Tensor x = numbers({n_rows, width}, 1), s = numbers({n_rows, width}, 2),
                             dy = numbers({n_rows, width}, 3);
                return Work([=] {
                    AddNorm::Cache cache;
                    layer->after(x, s, &cache);
                    layer->after_backward(dy, cache);
                });
            }};
}
// [words]
/// Rows of 8,000 logits.
MeasuredOperation loss_of_words() {
    const double logits = 768.0 * 8000;
    return {"cross_entropy", "cross entropy, both passes", pass(2 * logits), [] {
                const Tensor logits_of = numbers({1, 768, 8000});
                const Ids targets = random_ids({1, 768}, 1, 8000, Random(2).stream());
                return Work([=] {
                    CrossEntropyCache cache;
                    cross_entropy(logits_of, targets, {}, &cache);
                    cross_entropy_backward(cache);
                });
            }};
}

/// The output map, the loss, and both backward passes.
MeasuredOperation loss_of_vocabulary() {
    const double weights = 8000.0 * 256;
    return {"vocabulary_loss", "vocabulary loss, both passes",
            products(3 * 1536 * weights, 2 * weights, 2 * 1536.0 * 256), [] {
                Random random(1);
                const auto output = std::make_shared<Linear>(256, 8000, true, random);
                const Tensor x = numbers({1, 1536, 256});
                const Ids targets = random_ids({1, 1536}, 1, 8000, Random(2).stream());
                return Work([=] {
                    zero_grad(parameters_of(*output));
                    VocabularyLossCache cache;
                    vocabulary_loss(x, *output, targets, {}, &cache);
                    vocabulary_loss_backward(*output, cache);
                    output->weight.grad();
                });
            }};
}

MeasuredOperation measured_argmax() {
    return {"argmax", "argmax of 8,000 words", pass(768.0 * 8000), [] {
                const Tensor logits = numbers({1, 768, 8000});
                return Work([=] { argmax(logits); });
            }};
}
// [optimizers]
/// A parameter of 4096 x 2048 weights with its gradient, and an optimizer that is made of it.
template <class Make>
Work steps_of(const Make& make) {
    const auto p = std::make_shared<Parameter>(numbers({4096, 2048}));
    p->grad().fill(Real(1e-3));
    const std::shared_ptr<Optimizer> optimizer = make(Parameters{{"w", p.get()}});
    return [=] {
        static_cast<void>(p);  // lives as long as its optimizer
        optimizer->step(Real(1e-6));
    };
}

MeasuredOperation adam() {
    const double weights = 4096.0 * 2048;
    return {
        "adam", "Adam", {"", {0, real * weights, real * 6 * weights}, 0}, [] {
            return steps_of([](const Parameters& list) { return std::make_shared<Adam>(list); });
        }};
}

MeasuredOperation momentum() {
    const double weights = 4096.0 * 2048;
    return {"sgd", "SGD with momentum", {"", {0, real * weights, real * 4 * weights}, 0}, [] {
                return steps_of(
                    [](const Parameters& list) { return std::make_shared<Sgd>(list, Real(0.99)); });
            }};
}

/// Both gradients of a map that sees 16 rows, and its update by momentum.
MeasuredOperation waiting_gradient() {
    const double weights = 4096.0 * 2048, both = 2 * 16 * weights;  // products, dW and dx
    return {"waiting", "gradients of 16 rows, SGD", {"", {both, 0, real * 4 * weights}, 0}, [] {
                Random random(1);
                const auto map = std::make_shared<Linear>(2048, 4096, false, random);
                const auto sgd = std::make_shared<Sgd>(parameters_of(*map), Real(0.99));
                const Tensor x = numbers({16, 2048}, 1), dy = numbers({16, 4096}, 2);
                return Work([=] {
                    map->weight.zero_grad();
                    map->backward(dy, {way(), x});
                    sgd->step(Real(1e-6));
                });
            }};
}

/// All of it together: the toy's step, forward, backward and update.
MeasuredOperation whole_step() {
    struct Training {
        Transformer model{toy_step().options, Random(1)};
        Trainer trainer{model, {.optimizer = "sgd"}};
    };
    const Step toy = toy_step();
    return {"whole_step", "the toy's step", {"", toy.floor(), 0}, [toy] {
                const auto training = std::make_shared<Training>();
                const Batch batch =
                    random_batch(toy.sentences, toy.src_words, toy.options.src_words, toy.tgt_words,
                                 toy.options.tgt_words, 1);
                return Work([=] {
                    training->trainer.forward_backward(batch);
                    training->trainer.update(Real(1e-6));
                });
            }};
}

}  // namespace
// [all]
std::vector<MeasuredOperation> measured_operations() {
    std::vector<MeasuredOperation> list{square_product()};
    for (const Index rows : {1, 4, 16, 64, 256, 1024}) list.push_back(linear_map(rows, false));
    list.push_back(linear_map(256, true));
    for (const bool causal : {false, true})
        for (const auto& [sentences, length] :
             {std::pair<Index, Index>{16, 24}, {4, 256}, {1, 1024}})
            list.push_back(attention(sentences, length, causal));
    for (const auto& make : {one_query,
                             added,
                             columns_added,
                             measured_relu_backward,
                             swished,
                             drawn,
                             drawn_evenly,
                             softmax_of_rows,
                             softmax_of_rows_backward,
                             dropped,
                             dropped_backward,
                             normed,
                             added_and_normed,
                             loss_of_words,
                             loss_of_vocabulary,
                             measured_argmax,
                             adam,
                             momentum,
                             waiting_gradient,
                             whole_step})
        list.push_back(make());
    for (const auto& make :
         {measured_relu, split_and_joined, transposed, positioned, measured_embedding}) {
        list.push_back(make());
        list.back().one_way = true;
    }
    return list;
}

}  // namespace abh
