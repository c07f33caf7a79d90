// Does one kind of work, an iteration at a time, for bench.py, which lets several systems take
// turns. Prints `ready` and what it is built with; then, for each line of input, the milliseconds
// of one iteration; and at the end of input its peak memory in kB. Works and sizes are those of
// pytorch_peer.py. The work `floors` prints what this machine reaches, and then, for each line of
// input with a work and its sizes, the floor of chapter 12 in milliseconds.
#include <sys/resource.h>

#include <Eigen/Core>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#ifdef ABH_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/12_where_the_time_goes/limits.hpp"
#include "chapters/12_where_the_time_goes/works.hpp"
#include "chapters/15_language_model/continuation.hpp"
#include "chapters/15_language_model/language_model.hpp"
#include "chapters/15_language_model/published_model.hpp"
#include "chapters/15_language_model/training.hpp"
#include "lib/fast/product.hpp"
#include "lib/precision.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"

using namespace abh;

namespace {

TransformerOptions small() {
    TransformerOptions o = base_step().options;
    o.layer.attention.d_model = 256;
    o.layer.attention.n_heads = 4;
    o.layer.d_ff = 1024;
    o.n_encoder_layers = o.n_decoder_layers = 3;
    return o;
}

/// Everything that one step of training needs, kept from step to step.
struct Training {
    Transformer model;
    Trainer trainer;
    Batch batch;
    Real rate;

    Training(const TransformerOptions& options, Batch data, bool adam)
        : model(options, Random(1)),
          trainer(model, {.optimizer = adam ? "adam" : "sgd"}),
          batch(std::move(data)),
          rate(adam ? Real(1e-4) : Real(1e-3)) {}

    void step() { trainer.step(batch, rate); }
};

Batch batch_of(const TransformerOptions& o, Index sentences, Index words) {
    return random_batch(o, sentences, words, words, 1);
}

Work training(const TransformerOptions& options, const Batch& batch, bool adam) {
    const auto t = std::make_shared<Training>(options, batch, adam);
    return [t] { t->step(); };
}

/// The widths of SmolLM2-135M, with fewer layers and words.
LlamaOptions llama() {
    LlamaOptions o{.words = 8000, .n_layers = 4, .block = {}, .tied = true};
    o.block.d_ff = 1536;
    o.block.attention = {.d_model = 576, .n_heads = 9, .n_kv_heads = 3};
    return o;
}

/// A step of `train_lines` on texts of random words.
Work llama_step(Index texts, Index words) {
    struct State {
        Llama model{llama(), Random(1)};
        Parameters parameters = parameters_of(model);
        std::unique_ptr<Optimizer> optimizer = make_optimizer(parameters, {.optimizer = "adam"});
        Ids read, targets;
        Llama::Cache cache;
        VocabularyLossCache loss_cache;
    };
    const auto s = std::make_shared<State>();
    Random random(1);
    for (Ids* ids : {&s->read, &s->targets})
        *ids = random_ids({texts, words}, 1, static_cast<std::int32_t>(llama().words),
                          random.stream());
    return [s] {
        zero_grad(s->parameters);
        const Tensor y = s->model.forward({s->read, {}}, &s->cache);
        vocabulary_loss(y, s->model.output, s->targets, {}, &s->loss_cache);
        s->model.backward(vocabulary_loss_backward(s->model.output, s->loss_cache), s->cache);
        s->optimizer->step(Real(1e-4));
        s->model.random().next_step();
    };
}

/// The weights of all blocks' products.
Index block_weights(const LlamaOptions& o) {
    const auto& [d, heads, kv_heads, rotary] = o.block.attention;
    return o.n_layers * (2 * d * d + 2 * d * (d / heads * kv_heads) + 3 * d * o.block.d_ff);
}

/// Multiply-adds of the queries of a text with the keys before them, and of weights with values.
Index attention_products(const LlamaOptions& o, Index words) {
    return o.n_layers * words * (words + 1) * o.block.attention.d_model;
}

/// Its products see each weight but those of the norms once a word. Forward once, backward twice.
Floor llama_floor(Index texts, Index words) {
    const LlamaOptions o = llama();
    const Index d = o.block.attention.d_model, weights = block_weights(o) + o.words * d,
                norms = (2 * o.n_layers + 1) * d, attention = texts * attention_products(o, words);
    constexpr Index real = sizeof(Real), adam = 3;  // a weight and its two means
    return {.multiply_adds = static_cast<double>(3 * (texts * words * weights + attention)),
            .bytes_read = static_cast<double>(real * weights),
            .bytes_updated = static_cast<double>(2 * adam * real * (weights + norms))};
}

using File = std::filesystem::path;

/// Words for a published model to read, those of published_peer.py.
std::vector<std::int32_t> published_words(Index count) {
    std::vector<std::int32_t> words;
    for (std::int32_t i = 0; i < count; ++i) words.push_back(17 + 7919 * i % 49000);
    return words;
}

/// Reads a text at once, or goes on with one word greedily, word by word.
Work published_work(const std::string& name, Index length, const File& file) {
    const auto m = std::make_shared<const Published>(load_published(file));
    const std::vector<std::int32_t> words = published_words(length);
    if (name == "published_prompt") return [=] { Continuation(m->model, length).next(words); };
    return [=] {
        Continuation text(m->model, length);
        std::int32_t word = words[0];
        for (Index i = 0; i < length; ++i) {
            const Tensor logits = text.next(word);
            word = static_cast<std::int32_t>(std::ranges::max_element(logits.values()) -
                                             logits.values().begin());
        }
    };
}

/// Word by word it reads all weights from memory for each. The last map sees the last word only.
Floor published_floor(const std::string& name, Index length, const File& file) {
    const Published m = load_published(file);
    const LlamaOptions& o = m.model.options();
    const bool prompt = name == "published_prompt";
    const Index last = o.words * o.block.attention.d_model * (prompt ? 1 : length);
    return {.multiply_adds = static_cast<double>(length * block_weights(o) + last +
                                                 attention_products(o, length)),
            .bytes_read = static_cast<double>((prompt ? 1 : length) * m.weight_bytes)};
}

Work toy_decode() {
    const Task task = toy_task();
    const auto model = std::make_shared<Transformer>(task.model, Random(1));
    const Ids src = source_ids(task.corpus.source, task.corpus.train.front().source);
    const DecodingOptions options{task.corpus.target.id(start_word), -1, 7};
    return [=] { greedy_decode(*model, src, options); };
}

/// Decodes all sentences at once, with a key-value cache, and `words` words for each.
Work decoding(const TransformerOptions& options, Index sentences, Index words) {
    const auto model = std::make_shared<Transformer>(options, Random(1));
    const Ids src = batch_of(options, sentences, words).source.ids;
    return [=] { greedy_decode_cached(*model, src, {1, -1, words}); };
}

/// A square matrix product, to measure what products can reach.
Work product(Index n) {
    Random random(1);
    const Tensor a = normal({n, n}, random.stream()), b = normal({n, n}, random.stream());
    return [=] { matmul(a, b); };
}

/// Attention with 8 heads of 64 columns, forward and backward; `causal` hides the future.
Work attention(Index sentences, Index words, bool causal) {
    Random random(1);
    const auto draw = [&] { return normal({sentences, words, 512}, random.stream()); };
    const Tensor q = draw(), k = draw(), v = draw(), dy = draw();
    const AttentionMask mask = causal ? hide_future() : AttentionMask();
    return [=] {
        AttendHeadsCache cache;
        attend_heads(q, k, v, 8, mask, {}, &cache);
        attend_heads_backward(dy, cache);
    };
}

bool decodes(const std::string& name) {
    return name.ends_with("_decode");
}

TransformerOptions model_of(const std::string& name) {
    if (name.starts_with("toy")) return toy_step().options;
    if (name.starts_with("base")) return base_step().options;
    require(name.starts_with("small"), "no work {}; see --help", name);
    return small();
}

Work make_work(const std::string& name, Index sentences, Index words, const File& model) {
    if (name == "toy_step") {
        const Task task = toy_task();
        return training(task.model, make_batch(task.corpus, std::span(task.corpus.train).first(2)),
                        false);
    }
    if (name == "toy_decode") return toy_decode();
    if (name == "product") return product(1024);
    if (name == "llama_step") return llama_step(sentences, words);
    if (name.starts_with("published_")) return published_work(name, words, model);
    if (name.starts_with("attention")) return attention(sentences, words, name.ends_with("causal"));
    const TransformerOptions options = model_of(name);
    if (decodes(name)) return decoding(options, sentences, words);
    return training(options, batch_of(options, sentences, words), true);
}

/// The floor of a work. Attention has two products forward, and five backward, which computes the
/// scores again; what the future hides costs nothing.
Floor floor_of(const std::string& name, Index sentences, Index words, const File& model) {
    const double n = static_cast<double>(words), b = static_cast<double>(sentences);
    if (name == "product") return {.multiply_adds = 1024.0 * 1024 * 1024};
    if (name.starts_with("attention")) {
        const double pairs = name.ends_with("causal") ? n * (n + 1) / 2 : n * n;
        return {.multiply_adds = 7 * b * pairs * 512};
    }
    if (name == "llama_step") return llama_floor(sentences, words);
    if (name.starts_with("published_")) return published_floor(name, words, model);
    const TransformerOptions options = model_of(name);
    if (name == "toy_step") return toy_step().floor();
    if (name == "toy_decode") return decoding_floor(options, 1, 8, 7);
    if (decodes(name)) return decoding_floor(options, sentences, words, words);
    return training_floor(options, sentences, words, words, OptimizerKind::adam);
}

void print_floors(const File& model) {
    const Limits limits = undisturbed([] { return measure_limits(); });
    const nlohmann::json reached{{"read", limits.read},
                                 {"copy", limits.copy},
                                 {"update", limits.update},
                                 {"product", limits.product_flops},
                                 {"disturbed", limits.noise.disturbed()}};
    std::cout << reached << std::endl;
    std::string name;
    for (Index sentences = 0, words = 0; std::cin >> name >> sentences >> words;)
        std::cout << floor_ms(floor_of(name, sentences, words, model), limits) << std::endl;
}

#ifdef __clang__
constexpr const char* compiler = __VERSION__;
#else
constexpr const char* compiler = "GCC " __VERSION__;
#endif

/// The libraries and the compiler that it was built with.
std::string built_with() {
    std::string text = fmt::format("Eigen {}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                                   EIGEN_MINOR_VERSION);
#ifdef ABH_ONEDNN
    if (products_by_library()) {
        const dnnl_version_t* v = dnnl_version();
        text += fmt::format(", oneDNN {}.{}.{}", v->major, v->minor, v->patch);
    }
#endif
    return text + ", compiled by " + compiler;
}

}  // namespace

int main(int argc, char** argv) {
    std::string name;
    Index sentences = 32, words = 24;
    Program program("Do one kind of work, an iteration for each line of input, and time it");
    program.options().add("work", name,
                          "toy_step, base_step, small_step, llama_step, toy_decode, base_decode, "
                          "small_decode, product, attention, attention_causal, published_tokens, "
                          "published_prompt, floors");
    File file;
    std::string bits = "float";
    program.options()
        .add("--precision", bits, "of products: float, bf16 or int8")
        .one_of({"float", "bf16", "int8"});
    program.options().add("--model", file, "a published model, for its works");
    program.options().add("--batch", sentences, "sentences per batch").range(1, 1 << 20);
    program.options().add("--length", words, "words of source and of target").range(1, 5000);
    return program.run(argc, argv, [&] {
        if (name == "floors") return print_floors(file);
        std::string without;  // instructions for bf16
        if (bits == "int8")
            set_precision(Precision::int8);
        else
            without = choose_precision(bits);
        const Work work = make_work(name, sentences, words, file);
        work();
        std::cout << "ready " << built_with() << (without.empty() ? "" : "; ") << without
                  << std::endl;
        for (std::string line; std::getline(std::cin, line);)
            std::cout << milliseconds(work) << std::endl;
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        std::cout << usage.ru_maxrss << std::endl;
    });
}
