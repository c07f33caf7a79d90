// The whole Transformer, training, checkpoints.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include "chapters/09_training/loss.hpp"
#include "chapters/09_training/training.hpp"
#include "lib/eigen.hpp"
#include "lib/files.hpp"
#include "lib/gradcheck.hpp"
#include "lib/parallel.hpp"
#include "lib/safetensors.hpp"
#include "tests/support.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

// Sums in another order through some layers: tens of roundings of numbers of order one.
constexpr double round_off = in_double ? 1e-12 : 2e-5;

/// The toy's options at the given sizes.
TransformerOptions toy_like(Index d_model = 6, Index n_heads = 3, Index d_ff = 7) {
    TransformerOptions o = toy_task().model;
    o.layer.attention.d_model = d_model;
    o.layer.attention.n_heads = n_heads;
    o.layer.d_ff = d_ff;
    o.n_encoder_layers = 2;
    o.n_decoder_layers = 2;
    o.positions.max_len = 20;
    return o;
}

/// Biases, learned norm, scaled embedding, padding row: the paper and the architecture article.
TransformerOptions paper_like(NormPlacement placement) {
    TransformerOptions o = toy_like();
    o.layer.attention.bias_qkv = o.layer.attention.bias_out = o.layer.ff_bias = true;
    o.output_bias = true;
    o.layer.add_norm.norm.learned = true;
    o.layer.add_norm.placement = placement;
    o.layer.add_norm.dropout = Real(0.1);
    o.embedding = {.scale = true, .padding_id = 0};
    o.n_encoder_layers = 1;  // as many as the decoder's or not
    return o;
}

/// The shared-head block, dropout after the norm.
TransformerOptions shared_head_like() {
    TransformerOptions o = toy_like();
    o.layer.attention.shared_head_maps = true;
    o.layer.attention.bias_out = o.layer.ff_bias = o.output_bias = true;
    o.layer.attention.attention = {.scale = 1 / std::sqrt(Real(6)),
                                   .mask_meaning = MaskMeaning::keep,
                                   .fill = Real(-1e20),
                                   .fill_place = FillPlace::before_scale};
    o.layer.add_norm.norm.learned = true;
    o.layer.add_norm.dropout_after_norm = Real(0.15);
    o.positions = {.kind = Positions::learned, .max_len = 9, .dropout = Real(0.15)};
    o.mask_target_pads = false;
    o.n_decoder_layers = 1;
    return o;
}

/// Two sentences, the second one shorter on both sides.
const Ids& example_src() {
    static const Ids ids({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
    return ids;
}
const Ids& example_tgt() {
    static const Ids ids({2, 4}, {9, 1, 2, 3, 9, 4, 0, 0});
    return ids;
}

/// Gains and shifts other than 1 and 0, so that an error in them shows.
void shake(Transformer& model) {
    for (const NamedParameter& p : parameters_of(model))
        if (p.parameter->value.rank() == 1)
            p.parameter->value +=
                uniform(p.parameter->value.shape(), Real(-0.5), Real(0.5), model.random().stream());
}

void check_all_gradients(const TransformerOptions& options) {
    Transformer model(options, Random(5));
    shake(model);
    Tensor dlogits = normal({2, 4, options.tgt_words}, model.random().stream());
    matrix(dlogits).bottomRows(2).setZero();  // pads, whose rows the loss leaves out
    const auto forward = [&] {
        Transformer::Cache unused;  // with a cache dropout acts, on the same elements each time
        return model.forward(example_src(), example_tgt(), &unused);
    };
    Transformer::Cache cache;
    model.forward(example_src(), example_tgt(), &cache);
    model.backward(dlogits, cache);
    Index checked = 0;
    for (const NamedParameter& p : parameters_of(model)) {
        const GradientError e =
            check_gradient(forward, p.parameter->value, p.parameter->grad(), dlogits);
        INFO(p.name << ": " << to_string(e));
        CHECK(e.relative < 1e-6);
        checked += e.checked;
    }
    CHECK(checked > 500);
}

/// A toy in small, without dropout.
Task small_task() {
    Task task = toy_task();
    TransformerOptions o = toy_like(16, 4, 24);
    o.positions.dropout = 0;
    o.n_encoder_layers = o.n_decoder_layers = 1;
    task.model = o;
    task.training.epochs = 40;
    task.training.optimizer = "adam";
    task.training.learning_rate = Real(1e-2);
    return task;
}

std::vector<double> losses_of(const Task& task, std::uint64_t seed, int n_threads = 1) {
    set_threads(n_threads);
    Transformer model(task.model, Random(seed));
    std::vector<double> losses;
    train(model, task.corpus, task.training,
          [&](const StepReport& r) { losses.push_back(r.loss); });
    set_threads(1);
    return losses;
}

/// What `f` prints to the standard output.
template <class F>
std::string printed(const F& f) {
    const Folder folder;
    const fs::path file = folder.path / "out.txt";
    std::fflush(stdout);
    const int terminal = ::dup(STDOUT_FILENO);
    const int target = ::open(file.c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(target, STDOUT_FILENO);
    f();
    std::fflush(stdout);
    ::dup2(terminal, STDOUT_FILENO);
    ::close(target);
    ::close(terminal);
    return read_file(file);
}

}  // namespace

TEST_CASE("the toy has 44,058,112 parameters") {
    Transformer model(toy_task().model, Random(1));
    CHECK(count_elements(parameters_of(model)) == 44'058'112);
    std::set<std::string> names;
    for (const NamedParameter& p : parameters_of(model)) names.insert(p.name);
    CHECK(names.size() == 6 * (4 + 2) + 6 * (8 + 2) + 3);  // all of them matrices
    CHECK(names.count("encoder.layers.5.self_attn.w_q.weight") == 1);
    CHECK(names.count("decoder.layers.0.multihead_attn.w_v.weight") == 1);
    CHECK(names.count("output.weight") == 1);
}

TEST_CASE("the German-English notebook, completed, has 44,150,793 parameters") {
    TransformerOptions o = toy_task().model;
    o.src_words = 6;
    o.tgt_words = 9;
    o.layer.attention.bias_qkv = o.layer.attention.bias_out = o.layer.ff_bias = true;
    o.output_bias = true;
    o.layer.add_norm.norm.learned = true;
    Transformer model(o, Random(1));
    CHECK(count_elements(parameters_of(model)) == 44'150'793);
}

TEST_CASE("the shared-head block has 7,620,618 parameters and gives logits [2, 7, 10]") {
    TransformerOptions o = shared_head_like();
    o.src_words = o.tgt_words = 10;
    o.n_encoder_layers = o.n_decoder_layers = 6;
    o.layer.attention.d_model = 256;
    o.layer.attention.n_heads = 8;
    o.layer.attention.attention.scale = Real(1) / 16;
    o.layer.d_ff = 1024;
    o.positions.max_len = 100;
    Transformer model(o, Random(1));
    CHECK(count_elements(parameters_of(model)) == 7'620'618);
    const Ids src({2, 9}, {1, 5, 6, 4, 3, 9, 5, 2, 0, 1, 8, 7, 3, 4, 5, 6, 7, 2});
    const Ids tgt({2, 7}, {1, 7, 4, 3, 5, 9, 2, 1, 5, 6, 2, 4, 7, 6});
    CHECK(model.forward(src, tgt).shape() == Shape{2, 7, 10});
}

TEST_CASE("every parameter's gradient agrees with differences, as in the toy") {
    if constexpr (in_double) check_all_gradients(toy_like());
}

TEST_CASE("every parameter's gradient agrees with differences, with biases and learned norm") {
    if constexpr (in_double) check_all_gradients(paper_like(NormPlacement::post));
}

TEST_CASE("every parameter's gradient agrees with differences, with the norm before") {
    if constexpr (in_double) check_all_gradients(paper_like(NormPlacement::pre));
}

TEST_CASE("every parameter's gradient agrees with differences, with shared heads") {
    if constexpr (in_double) check_all_gradients(shared_head_like());
}

TEST_CASE("backward twice adds every gradient twice and leaves the cache alone") {
    Transformer model(paper_like(NormPlacement::post), Random(2));
    const Parameters parameters = parameters_of(model);
    Transformer::Cache cache;
    model.forward(example_src(), example_tgt(), &cache);
    const Tensor dlogits = normal({2, 4, model.options().tgt_words}, model.random().stream());
    model.backward(dlogits, cache);
    std::vector<Tensor> once;
    for (const NamedParameter& p : parameters) once.push_back(p.parameter->grad().clone());
    zero_grad(parameters);
    model.backward(dlogits, cache);  // from the same cache, the same bits
    for (std::size_t i = 0; i < once.size(); ++i)
        CHECK(same_bits(parameters[i].parameter->grad(), once[i]));
    model.backward(dlogits, cache);
    for (std::size_t i = 0; i < once.size(); ++i) {
        INFO(parameters[i].name);
        const double size = std::sqrt(dot(once[i], once[i]));
        CHECK(max_difference(parameters[i].parameter->grad(), once[i] + once[i]) <=
              round_off * (1 + size));
    }
}

TEST_CASE("a logit does not depend on later target words") {
    for (const auto& options : {toy_like(), paper_like(NormPlacement::pre), shared_head_like()}) {
        const Transformer model(options, Random(3));
        const Tensor logits = model.forward(example_src(), example_tgt());
        for (Index changed = 1; changed < 4; ++changed) {
            Ids tgt = example_tgt().clone();
            tgt(0, changed) = 7;
            const Tensor other = model.forward(example_src(), tgt);
            const auto row = [](const Tensor& x, Index t) {
                return matrix(x).row(t).eval();  // of the first sentence
            };
            for (Index t = 0; t < changed; ++t) CHECK(row(other, t) == row(logits, t));
            CHECK(row(other, changed) != row(logits, changed));
        }
    }
}

TEST_CASE("encode, then decode, is forward") {
    const Transformer model(toy_like(), Random(3));
    const Tensor memory = model.encode(example_src());
    CHECK(memory.shape() == Shape{2, 5, 6});
    CHECK(same_bits(model.decode(example_tgt(), memory, example_src()),
                    model.forward(example_src(), example_tgt())));
}

TEST_CASE("dropout acts with a cache and not without") {
    Transformer model(toy_like(), Random(3));
    const Tensor still = model.forward(example_src(), example_tgt());
    CHECK(same_bits(model.forward(example_src(), example_tgt()), still));
    Transformer::Cache cache;
    const Tensor first = model.forward(example_src(), example_tgt(), &cache);
    CHECK_FALSE(same_bits(first, still));
    CHECK(same_bits(model.forward(example_src(), example_tgt(), &cache), first));
    model.random().next_step();
    CHECK_FALSE(same_bits(model.forward(example_src(), example_tgt(), &cache), first));
}

TEST_CASE("pads after the source change no logit") {
    for (const auto& options : {toy_like(), paper_like(NormPlacement::post), shared_head_like()}) {
        const Transformer model(options, Random(4));
        const Ids src({1, 3}, {1, 2, 3}), padded({1, 6}, {1, 2, 3, 0, 0, 0});
        const Ids tgt({1, 3}, {9, 1, 2});
        CHECK(max_difference(model.forward(src, tgt), model.forward(padded, tgt)) < round_off);
    }
}

TEST_CASE("pads in the target change neither the loss nor its gradient") {
    for (const Real smoothing : {Real(0), Real(0.1)})
        for (const bool mask : {false, true}) {
            TransformerOptions options = toy_like();
            options.mask_target_pads = mask;
            options.positions.dropout = 0;
            Transformer model(options, Random(4));
            const Parameters parameters = parameters_of(model);
            const auto run = [&](const Ids& tgt_in, const Ids& tgt_out) {
                Transformer::Cache cache;
                CrossEntropyCache loss_cache;
                const Tensor logits = model.forward(Ids({1, 3}, {1, 2, 3}), tgt_in, &cache);
                const double loss = cross_entropy(logits, tgt_out, {0, smoothing}, &loss_cache);
                zero_grad(parameters);
                model.backward(cross_entropy_backward(loss_cache), cache);
                std::vector<Tensor> gradients;
                for (const NamedParameter& p : parameters)
                    gradients.push_back(p.parameter->grad().clone());
                return std::pair(loss, gradients);
            };
            const auto [loss, gradients] = run(Ids({1, 3}, {9, 1, 2}), Ids({1, 3}, {1, 2, 10}));
            const auto [padded_loss, padded_gradients] =
                run(Ids({1, 6}, {9, 1, 2, 0, 0, 0}), Ids({1, 6}, {1, 2, 10, 0, 0, 0}));
            CHECK(padded_loss == Approx(loss).margin(round_off));
            for (std::size_t i = 0; i < gradients.size(); ++i)
                CHECK(max_difference(gradients[i], padded_gradients[i]) < round_off);
        }
}

TEST_CASE("a batch's loss is that of its sentences, each word counting the same") {
    Corpus corpus = empty_corpus();
    corpus.train = {{split_words("a b c"), split_words("x")},
                    {split_words("b"), split_words("y x y")}};
    const std::span<const SentencePair> pairs = corpus.train;
    for (const SentencePair& pair : pairs) add_words(corpus, pair);
    TransformerOptions options = toy_like();
    options.src_words = corpus.source.size();
    options.tgt_words = corpus.target.size();
    Transformer model(options, Random(4));
    const Evaluation both = evaluate(model, corpus, pairs);
    const Evaluation one = evaluate(model, corpus, pairs.first(1));
    const Evaluation two = evaluate(model, corpus, pairs.last(1));
    CHECK(one.words == 2);  // x and the end
    CHECK(two.words == 4);
    CHECK(both.words == 6);
    CHECK(both.loss == Approx((2 * one.loss + 4 * two.loss) / 6).margin(round_off));
    train(model, corpus, small_task().training, [](const StepReport&) {});
    CHECK(evaluate(model, corpus, pairs).exact == 2);  // pads are not asked for
}

TEST_CASE("training makes the loss fall until the pairs come out exact") {
    const Task task = small_task();
    Transformer model(task.model, Random(1));
    std::vector<StepReport> reports;
    train(model, task.corpus, task.training,
          [&](const StepReport& report) { reports.push_back(report); });
    REQUIRE(static_cast<Index>(reports.size()) == count_steps(task.corpus, task.training));
    CHECK(reports.size() == 80);
    CHECK(reports[0].epoch == 1);
    CHECK(reports[1].epoch == 1);
    CHECK(reports[2].epoch == 2);
    CHECK(reports.back().step == 80);
    CHECK(reports.back().loss < reports.front().loss / 20);
    const Evaluation e = evaluate(model, task.corpus, task.corpus.train);
    CHECK(e.exact == 3);
    CHECK(e.words == 21);
}

TEST_CASE("sgd with momentum makes the loss fall, too") {
    Task task = small_task();
    task.training =
        TrainingOptions{.epochs = 60, .learning_rate = Real(0.02), .momentum = Real(0.9)};
    const auto losses = losses_of(task, 1);
    CHECK(losses.back() < losses.front() / 5);
}

TEST_CASE("an epoch takes each pair once, in an order that changes") {
    Task task = small_task();
    task.training.epochs = 8;
    task.training.optimizer = "sgd";
    task.training.learning_rate = Real(1e-30);  // the weights stay as they are
    const auto losses = losses_of(task, 1);
    std::set<double> of_two, of_one;
    for (std::size_t epoch = 0; epoch < 8; ++epoch) {
        const double two = losses[2 * epoch], one = losses[2 * epoch + 1];  // pairs in the batch
        CHECK(2 * two + one == Approx(2 * losses[0] + losses[1]).margin(round_off));
        of_two.insert(two);
        of_one.insert(one);
    }
    CHECK(of_one.size() == 3);
    CHECK(of_two.size() >= 3);
}

TEST_CASE("a report comes before the update") {
    Task task = small_task();
    task.training.batch_size = 3;
    task.training.epochs = 1;
    Transformer model(task.model, Random(1));
    const Evaluation before = evaluate(model, task.corpus, task.corpus.train);
    train(model, task.corpus, task.training, [&](const StepReport& r) {
        CHECK(r.loss == Approx(before.loss).margin(round_off));
        CHECK(evaluate(model, task.corpus, task.corpus.train).loss == before.loss);
    });
    CHECK(evaluate(model, task.corpus, task.corpus.train).loss < before.loss);
}

TEST_CASE("training sets the gradients to zero before each step") {
    Task task = small_task();
    task.training.batch_size = 3;
    task.training.epochs = 3;
    Transformer model(task.model, Random(1));
    const Parameters parameters = parameters_of(model);
    zero_grad(parameters);
    train(model, task.corpus, task.training, [&](const StepReport&) {
        // a model of the same weights, whose gradients have never been touched
        Transformer fresh(task.model, Random(1));
        const Parameters copies = parameters_of(fresh);
        for (std::size_t i = 0; i < copies.size(); ++i)
            copies[i].parameter->value = parameters[i].parameter->value;
        const Batch batch = make_batch(task.corpus, task.corpus.train);
        Transformer::Cache cache;
        CrossEntropyCache loss_cache;
        cross_entropy(fresh.forward(batch.source, batch.target_in, &cache), batch.target_out, {},
                      &loss_cache);
        fresh.backward(cross_entropy_backward(loss_cache), cache);
        for (std::size_t i = 0; i < copies.size(); ++i)
            CHECK(max_difference(copies[i].parameter->grad(), parameters[i].parameter->grad()) <
                  10 * round_off);
    });
}

TEST_CASE("the same seed gives the same losses, bit by bit, for any number of threads") {
    Task task = small_task();
    task.model = toy_like(64, 4, 128);  // large enough that threads share the work
    task.model.positions.dropout = task.model.layer.add_norm.dropout = Real(0.1);
    task.training.epochs = 6;
    const auto losses = losses_of(task, 1);
    CHECK(losses_of(task, 1) == losses);
    CHECK(losses_of(task, 1, 2) == losses);
    CHECK(losses_of(task, 1, 5) == losses);
    CHECK(losses_of(task, 2) != losses);
}

TEST_CASE("what is exact is what greedy decoding finds") {
    Task task = small_task();
    task.training.epochs = 12;  // some pairs come out, some do not
    Transformer model(task.model, Random(1));
    train(model, task.corpus, task.training, [](const StepReport&) {});
    std::vector<SentencePair> pairs = task.corpus.train;
    pairs.push_back(task.corpus.held_out.front());
    for (const SentencePair& pair : pairs) {
        const Ids src = source_ids(task.corpus.source, pair.source);
        std::vector<std::string> words;
        while (words.size() < 12) {
            Ids tgt({1, static_cast<Index>(words.size()) + 1});
            tgt(0, 0) = task.corpus.target.id(start_word);
            for (std::size_t i = 0; i < words.size(); ++i)
                tgt.data()[i + 1] = task.corpus.target.id(words[i]);
            const Tensor logits = model.forward(src, tgt);
            const auto last = logits.values().last(static_cast<std::size_t>(logits.dim(2)));
            const auto best = std::max_element(last.begin(), last.end()) - last.begin();
            const std::string word = task.corpus.target.word(static_cast<std::int32_t>(best));
            if (word == end_word) break;
            words.push_back(word);
        }
        CHECK(evaluate(model, task.corpus, std::span(&pair, 1)).exact == (words == pair.target));
    }
}

TEST_CASE("training refuses options out of range, and stops where the loss is not finite") {
    const auto failing = [](auto change) {
        Task task = small_task();
        change(task.training);
        Transformer model(task.model, Random(1));
        train(model, task.corpus, task.training, [](const StepReport&) {});
    };
    using O = TrainingOptions;
    CHECK_THROWS_WITH(failing([](O& o) { o.epochs = 0; }), Contains("0 epochs"));
    CHECK_THROWS_WITH(failing([](O& o) { o.epochs = Index{1} << 62; }), Contains("1,000,000"));
    CHECK_THROWS_WITH(failing([](O& o) { o.batch_size = 0; }), Contains("batches of 0"));
    CHECK_THROWS_WITH(failing([](O& o) { o.optimizer = "lion"; }),
                      Contains("unknown optimizer lion, expected sgd or adam"));
    CHECK_THROWS_WITH(failing([](O& o) { o.learning_rate = -1; }), Contains("learning rate -1"));
    CHECK_THROWS_WITH(failing([](O& o) { o.momentum = 1; }), Contains("momentum 1"));
    CHECK_THROWS_WITH(failing([](O& o) { o.warmup = -2; }), Contains("warm-up of -2"));
    CHECK_THROWS_WITH(failing([](O& o) { o.smoothing = 1; }), Contains("smoothing 1"));
    CHECK_THROWS_WITH(failing([](O& o) { o.learning_rate = Real(in_double ? 1e300 : 1e30); }),
                      Contains("the loss of step") && Contains("is not finite"));
}

TEST_CASE("a batch larger than the corpus is the whole corpus") {
    Task task = small_task();
    task.training.epochs = 2;
    task.training.batch_size = 3;
    const auto losses = losses_of(task, 1);
    task.training.batch_size = std::numeric_limits<Index>::max();
    CHECK(count_steps(task.corpus, task.training) == 2);
    CHECK(losses_of(task, 1) == losses);
    task.corpus.train.clear();
    CHECK_THROWS_WITH(count_steps(task.corpus, task.training), Contains("no pair to train on"));
}

TEST_CASE("a sentence longer than the model is an error") {
    TransformerOptions o = toy_like();
    o.positions.max_len = 4;
    const Transformer model(o, Random(1));
    CHECK_THROWS_WITH(model.encode(example_src()),
                      Contains("positional encoding") && Contains("asked for"));
}

TEST_CASE("a step prints the source's line, and no progress bar goes into a file") {
    Task task = small_task();
    task.training.epochs = 3;
    Results results;
    const std::string out = printed([&] { train_with_output(task, 1, "", results); });
    const std::size_t from = out.find("== Training ==\n") + 15, to = out.find("\n== Time");
    const std::string lines = out.substr(from, to - from);
    CHECK(std::regex_match(lines, std::regex("(Epoch: 0001 loss = \\d\\.\\d{6}\n){2}"
                                             "(Epoch: 0002 loss = \\d\\.\\d{6}\n){2}"
                                             "(Epoch: 0003 loss = \\d\\.\\d{6}\n){2}")));
    CHECK(out.find('\r') == std::string::npos);
    CHECK(out.find("not saved") != std::string::npos);
    task.print_steps = false;  // then a line for each epoch
    const std::string short_out = printed([&] { train_with_output(task, 1, "", results); });
    CHECK(std::count(short_out.begin(), short_out.end(), 'E') == 3);
}

TEST_CASE("training with output saves what it trained, and asks before it trains whether it can") {
    const Folder folder;
    const fs::path file = folder.path / "new" / "model.safetensors";
    Task task = small_task();
    Results results(folder.path / "out");
    double unseen = 0;
    printed([&] {
        const Transformer model = train_with_output(task, 1, file, results);
        unseen = evaluate(model, task.corpus, task.corpus.held_out).loss;
    });
    const Checkpoint checkpoint = load_checkpoint(file);
    CHECK(evaluate(checkpoint.model, task.corpus, task.corpus.held_out).loss == unseen);
    for (const char* name : {"losses.npy", "norms.npy", "norm_epochs.npy"})
        CHECK(fs::exists(folder.path / "out" / name));

    std::ofstream(folder.path / "file") << "x";
    std::string message;
    const std::string out = printed([&] {
        try {
            train_with_output(task, 1, folder.path / "file" / "model.safetensors", results);
        } catch (const std::runtime_error& error) {
            message = error.what();
        }
    });
    CHECK(message.find("cannot write") == 0);
    CHECK(out.find("Epoch") == std::string::npos);
}

TEST_CASE("a checkpoint gives back the model, its options and its words") {
    const Folder folder;
    for (auto options : {toy_like(), paper_like(NormPlacement::pre), shared_head_like()}) {
        Corpus corpus = toy_corpus();
        Transformer model(options, Random(9));
        const fs::path file = folder.path / "model.safetensors";
        save_checkpoint(file, model, corpus);
        CHECK(folder.count() == 1);
        const Checkpoint back = load_checkpoint(file);
        CHECK(back.source.words() == corpus.source.words());
        CHECK(back.target.words() == corpus.target.words());
        CHECK(same_bits(back.model.forward(example_src(), example_tgt()),
                        model.forward(example_src(), example_tgt())));
        const TransformerOptions& o = back.model.options();
        CHECK(o.n_decoder_layers == options.n_decoder_layers);
        CHECK(o.layer.add_norm.dropout == options.layer.add_norm.dropout);
        CHECK(o.layer.add_norm.placement == options.layer.add_norm.placement);
        CHECK(o.positions.kind == options.positions.kind);
        CHECK(o.positions.dropout == options.positions.dropout);
        CHECK(o.layer.attention.attention.fill == options.layer.attention.attention.fill);
    }
}

TEST_CASE("a file that is no checkpoint is named, and says why") {
    const Folder folder;
    const fs::path file = folder.path / "model.safetensors";
    Corpus corpus = toy_corpus();
    Transformer model(toy_like(), Random(9));
    save_checkpoint(file, model, corpus);
    const std::string whole = read_file(file);
    const TensorFile content = load_safetensors(file);
    const auto message = [&] {
        try {
            load_checkpoint(file);
        } catch (const std::runtime_error& error) {
            CHECK_THAT(error.what(), Contains(file.string()));
            return std::string(error.what());
        }
        return std::string("no error");
    };
    const auto put = [&](const std::string& text) {
        std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
    };
    const auto altered = [&](auto change) {
        TensorFile other = content;
        change(other);
        save_safetensors(file, other);
        return message();
    };

    for (const std::size_t length :
         {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
        put(whole.substr(0, length));
        CHECK_THAT(message(), Contains("not a usable safetensors file"));
    }
    put("Epoch: 0001 loss = 2.345678\n");
    CHECK_THAT(message(), Contains("not a usable safetensors file"));
    CHECK_THAT(altered([](TensorFile& f) { f.metadata.clear(); }),
               Contains("not a checkpoint of this book") && Contains("no options in its notes"));
    CHECK_THAT(altered([](TensorFile& f) { f.metadata["options"] = "{"; }),
               Contains("not a checkpoint of this book"));
    CHECK_THAT(altered([](TensorFile& f) { f.metadata["options"] = "{}"; }),
               Contains("no option src_words"));
    CHECK_THAT(altered([](TensorFile& f) { f.metadata["source_words"] = "[\"P\"]"; }),
               Contains("vocabularies have 1 and 12 words, its model 11 and 12"));
    CHECK_THAT(altered([](TensorFile& f) { f.tensors.erase("output.weight"); }),
               Contains("tensor output.weight is missing"));
    CHECK_THAT(altered([](TensorFile& f) {
                   f.tensors["output.weight"] = Tensor::zeros({12, 5});
               }),
               Contains("tensor output.weight has shape [12, 5], expected [12, 6]"));
    fs::remove(file);
    CHECK_THAT(message(), Contains("cannot read"));
}

TEST_CASE("a checkpoint has its place by task and seed") {
    ::setenv("ABH_CHECKPOINTS", "/somewhere", 1);
    CHECK(default_checkpoint("toy", 3) == "/somewhere/toy-seed3.safetensors");
    ::unsetenv("ABH_CHECKPOINTS");
    CHECK(default_checkpoint("grammar", 1) == "checkpoints/grammar-seed1.safetensors");
}
