// Per way: training on the device: the processor's losses, and what moves between the memories.
#include "chapters/09_training/loss/argmax.hpp"
#include "chapters/09_training/model/checkpoint.hpp"
#include "lib/cuda/counts.hpp"
#include "tests/devices.hpp"
#include "tests/transformers.hpp"

using namespace abh;

namespace {

/// Five pairs of different lengths.
Corpus small_corpus() {
    Corpus corpus = empty_corpus();
    corpus.train = {{split_words("a b c"), split_words("x y")},
                    {split_words("b"), split_words("y x y")},
                    {split_words("c a"), split_words("z")},
                    {split_words("c c a b"), split_words("z z x y")},
                    {split_words("a c"), split_words("x z")}};
    for (const SentencePair& pair : corpus.train) add_words(corpus, pair);
    return corpus;
}

TransformerOptions fitting(TransformerOptions o, const Corpus& corpus) {
    o.src_words = corpus.source.size();
    o.tgt_words = corpus.target.size();
    return o;
}

/// Twenty steps, two of them an epoch of five pairs in batches of three.
TrainingOptions twenty_steps(const std::string& optimizer) {
    TrainingOptions o;
    o.epochs = 10;
    o.batch_size = 3;
    o.optimizer = optimizer;
    o.learning_rate = Real(1e-3);
    o.momentum = Real(0.9);
    o.smoothing = Real(0.1);
    return o;
}

/// What a step moved between the memories.
Transfers difference(const Transfers& a, const Transfers& b) {
    return {b.to_device - a.to_device, b.to_host - a.to_host, b.bytes_to_device - a.bytes_to_device,
            b.bytes_to_host - a.bytes_to_host};
}

}  // namespace

TEST_CASE("training takes the same way on the device, and moves ids and a loss", "[cuda]") {
    const Corpus corpus = small_corpus();
    const std::vector<std::pair<TransformerOptions, const char*>> cases{
        {toy_like(), "sgd"},
        {toy_like(), "adam"},
        {paper_like(NormPlacement::post), "sgd"},
        {paper_like(NormPlacement::pre), "adamw"},
        {shared_head_like(), "sgd"},
        {shared_head_like(), "adam"}};
    for (auto [options, optimizer] : cases) {
        options.n_encoder_layers = options.n_decoder_layers = 1;
        const auto run = [&] {
            Transformer model(fitting(options, corpus), Random(1));
            std::vector<double> losses;
            Transfers before = transfers();
            train(model, corpus, twenty_steps(optimizer), [&](const StepReport& r) {
                losses.push_back(r.loss);
                const Transfers moved = difference(before, transfers());
                before = transfers();
                INFO("step " << r.step);
                // weights go over in the first step, and the optimizer's list in its update
                if (!on_cuda() || r.step <= 2) return;
                CHECK(moved.to_host == 1);
                CHECK(moved.bytes_to_host == sizeof(double));
                // the ids of source, target in and out, 3 sentences of 5 words, and where each
                // begins
                CHECK(moved.to_device == 1);
                CHECK(moved.bytes_to_device <= (3 * 3 * 5 + 2 * 4) * 4);
            });
            losses.push_back(evaluate(model, corpus, corpus.train).loss);
            return losses;
        };
        const auto [host, device] = on_both(run);
        REQUIRE(device.size() == 21);
        // The same pairs, and the same elements dropped; what is left is the order of sums. In
        // float a gradient differs by some 1e-6 of the largest, a step at a rate of 1e-3 carries
        // that into weights of order one, and Adam, which divides by the gradient's own size, may
        // carry a weight whose gradient is round-off by up to the rate: a few such weights among
        // hundreds move a loss by some 1e-5.
        const double tolerance = in_double ? 1e-8 : 1e-4;
        for (std::size_t i = 0; i < device.size(); ++i) {
            INFO(optimizer << ", step " << i + 1);
            CHECK(device[i] == Approx(host[i]).epsilon(tolerance));
        }
    }
}

#ifndef ABH_DOUBLE
TEST_CASE("Adam's kernel writes what products read of a weight in bf16, so nothing rounds it again",
          "[cuda]") {
    const ScopedWay device(Way::cuda);
    const ScopedPrecision in_bf16(Precision::bf16);
    for (const Index d_in : {37, 40}) {  // one by one, too, and fours alone
        Random random(3);
        Linear map(d_in, 30, true, random);
        Adam adam(parameters_of(map));
        for (int step = 0; step < 2; ++step) {
            Linear::Cache cache;
            map.backward(map.forward(random_tensor({5, d_in}), &cache), cache);
            adam.step(Real(0.1));
            cuda::count_kernels(true);
            const Tensor read = as_read_in_bf16(map.weight.value);
            cuda::count_kernels(false);
            CHECK(cuda::kernel_counts().empty());
            CHECK(max_difference(read, rounded(map.weight.value, Precision::bf16)) == 0);
            CHECK(!map.bias.value.storage()->kept());  // as no product reads it
        }
    }
}

TEST_CASE("training in bf16 goes down on the device as in single precision", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Corpus corpus = small_corpus();
    TransformerOptions options = paper_like(NormPlacement::pre);
    options.n_encoder_layers = options.n_decoder_layers = 1;
    TrainingOptions how = twenty_steps("adam");
    how.learning_rate = Real(0.01);
    how.smoothing = 0;
    const auto losses_in = [&](Precision precision) {
        const ScopedPrecision scoped(precision);
        Transformer model(fitting(options, corpus), Random(1));
        std::vector<double> losses;
        train(model, corpus, how, [&](const StepReport& r) { losses.push_back(r.loss); });
        return losses;
    };
    const auto single = losses_in(Precision::single), bf16 = losses_in(Precision::bf16);
    double farthest = 0;
    for (std::size_t i = 0; i < single.size(); ++i)
        farthest = std::max(farthest, std::abs(bf16[i] / single[i] - 1));
    CHECK(farthest > 1e-5);
    CHECK(farthest < 0x1p-8);  // by which bf16 moves a single number at most; a loss is a mean
    CHECK(bf16.back() < 0.7 * bf16.front());
}
#endif

TEST_CASE("a step of the base model with clipping takes few launches and two fetches", "[cuda]") {
    const ScopedWay device(Way::cuda);
    TransformerOptions o = TransformerOptions::article();  // with six layers in each half
    o.src_words = o.tgt_words = 7;
    o.layer.attention.d_model = o.layer.d_ff = 4;
    o.layer.attention.n_heads = 1;
    const Ids words = random_ids({2, 3}, 1, 7, Random(2).stream());
    const auto launches_in = [&](Precision precision) {
        const ScopedPrecision scoped(precision);
        Transformer model(o, Random(1));
        const Parameters parameters = parameters_of(model);
        Trainer trainer(model, {.optimizer = "adam"});
        const auto moved_by_step = [&] {
            const Batch batch = make_batch(words, words, words);
            const Transfers before = transfers();
            trainer.begin();
            trainer.add_part(batch, batch.n_targets, 0);
            scale_grad(parameters, static_cast<Real>(1 / grad_norm(parameters)));
            trainer.update(Real(1e-4));
            return difference(before, transfers());
        };
        moved_by_step();  // sends weights and lists
        cuda::count_kernels(true);
        const Transfers moved = moved_by_step();
        cuda::count_kernels(false);
        CHECK(moved.to_host == 2);                   // the loss and the norm
        CHECK(moved.to_device == 1);                 // ids
        Index launches = 3 * (18 * 4 + 12 * 2 + 1);  // products: one forward, two backward for each
        for (const cuda::KernelCount& count : cuda::kernel_counts()) {
            UNSCOPED_INFO(count.name << ": " << count.launches);
            launches += count.launches;
        }
        return launches;
    };
    const Index single = launches_in(Precision::single);
    CHECK(single <= 700);
    if (in_double) return;
    // 97 gradients are rounded, of the maps' results, and 62 inputs: four of each encoder layer,
    // six of each decoder layer, the encoder's result and the decoder's; and no weight. Of each of
    // the 18 attentions, q, k, v and dy are
    CHECK(launches_in(Precision::bf16) == single + 97 + 62 + 18 * 4);
}

TEST_CASE("evaluation brings back losses and words", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Corpus corpus = small_corpus();
    Transformer model(fitting(toy_like(), corpus), Random(1));
    evaluate(model, corpus, corpus.train);  // the weights go over
    const Transfers before = transfers();
    const Evaluation found = evaluate(model, corpus, corpus.train);
    const Transfers after = transfers();
    CHECK(after.to_host - before.to_host == 2);  // the loss, and one choice a word
    CHECK(after.bytes_to_host - before.bytes_to_host ==
          8 + found.words * static_cast<Index>(sizeof(Prediction)));
    CHECK(after.to_device - before.to_device == 1);  // ids
}

TEST_CASE("a checkpoint from the device holds the weights, and goes back there", "[cuda]") {
    const Folder folder;
    const Corpus corpus = small_corpus();
    double expected = 0;
    {
        const ScopedWay device(Way::cuda);
        Transformer model(fitting(paper_like(NormPlacement::post), corpus), Random(1));
        train(model, corpus, twenty_steps("adam"), [](const StepReport&) {});
        save_safetensors(folder / "m.safetensors", checkpoint_of(model, corpus));
        expected = evaluate(model, corpus, corpus.train).loss;
        const Checkpoint again = load_checkpoint(folder / "m.safetensors");
        CHECK(evaluate(again.model, corpus, corpus.train).loss == expected);
    }
    const ScopedWay processor(Way::fast);
    const Checkpoint here = load_checkpoint(folder / "m.safetensors");
    CHECK(evaluate(here.model, corpus, corpus.train).loss ==
          Approx(expected).epsilon(in_double ? 1e-12 : 1e-5));
}
