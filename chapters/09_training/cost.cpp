#include "chapters/09_training/cost.hpp"

#include <array>
#include <tuple>

#include "chapters/09_training/data/batches.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "lib/program/output.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [loss]
namespace {

/// Times the last map, the loss and their backward passes for 64 sentences of 24 words, with all
/// logits at once and by blocks.
void show_loss_by_blocks(std::uint64_t seed, Results& results) {
    section("The loss by blocks");
    const Index rows = 64 * 24, d_model = 256, words = 8000;
    Random random(seed);
    Linear output(d_model, words, true, random);
    const Tensor x = normal({1, rows, d_model}, random.stream());
    const Ids targets = random_ids({1, rows}, 1, words, random.stream());
    const Parameters parameters = parameters_of(output);
    Linear::Cache cache;
    CrossEntropyCache loss_cache;
    VocabularyLossCache blocks_cache;
    const Work at_once = [&] {
        zero_grad(parameters);
        cross_entropy(output.forward(x, &cache), targets, {}, &loss_cache);
        output.backward(cross_entropy_backward(loss_cache), cache);
        output.weight.grad();
    };
    const Work by_blocks = [&] {
        zero_grad(parameters);
        vocabulary_loss(x, output, targets, {}, &blocks_cache);
        vocabulary_loss_backward(output, blocks_cache);
        output.weight.grad();
    };
    GainTable table(results, fmt::format("{} rows, d_model {}, {} words", rows, d_model, words),
                    "at once", "by blocks");
    table.sides("loss and gradients", "loss", at_once, by_blocks);
    const double mb = static_cast<double>(sizeof(Real)) / 1e6;
    // two tensors at a time: logits and p, then p and the gradient
    const double whole = 2 * static_cast<double>(rows * words) * mb;
    const double block = static_cast<double>(most_logits) * mb;
    fmt::print("memory: {:.0f} MB at once, {:.0f} MB by blocks\n", whole, block);
    results.set("loss_mb", whole);
    results.set("loss_block_mb", block);
}
// [pads]
/// Random pairs: sources of 3 to 32 words, and targets at most two words shorter or longer.
Corpus drawn_corpus(Random& random) {
    const Index pairs = 256;
    Corpus corpus = empty_corpus();
    const Ids lengths = random_ids({pairs}, 3, 33, random.stream()),
              changes = random_ids({pairs}, -2, 3, random.stream()),  // from source to target
        words = random_ids({pairs, 2, 35}, 0, 200, random.stream());
    for (Index i = 0; i < pairs; ++i) {
        SentencePair pair;
        for (Index j = 0; j < lengths(i); ++j)
            pair.source.push_back(fmt::format("{}", words(i, 0, j)));
        for (Index j = 0; j < lengths(i) + changes(i); ++j)
            pair.target.push_back(fmt::format("{}", words(i, 1, j)));
        add_words(corpus, pair);
        corpus.train.push_back(pair);
    }
    return corpus;
}

/// Times the gradients of all batches of an epoch, with their pads or without, with lengths as they
/// come or with similar lengths together.
void show_pads(std::uint64_t seed, Results& results) {
    section("Pads");
    Random random(seed);
    const Corpus corpus = drawn_corpus(random);
    Task task = grammar_task();
    task.model.src_words = corpus.source.size();
    task.model.tgt_words = corpus.target.size();
    Transformer model(task.model, Random(seed));
    Trainer trainer(model, task.training);
    const Parameters parameters = parameters_of(model);
    const Stream of_pairs = random.stream(), of_batches = random.stream();
    Batches any(corpus.train, 32, false), like(corpus.train, 32, true);
    Transformer::Cache cache;
    VocabularyLossCache loss_cache;
    const CrossEntropyOptions loss{task.model.pad, task.training.smoothing};
    const auto epoch = [&](const Batches& batches, bool with_pads) {
        for (Index i = 0; i < batches.count(); ++i) {
            const Batch batch = make_batch(corpus, corpus.train, batches[i]);
            if (!with_pads) {
                trainer.begin();
                trainer.add_part(batch, batch.n_targets, 0);
                continue;
            }
            zero_grad(parameters);
            const Tensor y = model.forward(batch.source.ids, batch.target_in.ids, &cache);
            vocabulary_loss(y, model.output, batch.target_out, loss, &loss_cache);
            model.backward(vocabulary_loss_backward(model.output, loss_cache), cache);
        }
    };
    std::array<double, 2> words{};  // the share of the places that hold them
    for (const auto& [batches, name, key] : {std::tuple{&any, "lengths as they come", "any"},
                                             {&like, "like lengths together", "like"}}) {
        batches->draw(of_pairs, of_batches);
        const double share = share_of_pads(corpus.train, *batches);
        fmt::print("{:<28} {:4.1f} % of the places are pads\n", name, 100 * share);
        results.set(fmt::format("{}_pads", key), 100 * share);
        words[batches == &like] = 1 - share;
    }
    results.set("any_bound", 1 / words[0]);  // if time were proportional to places
    results.set("like_bound", words[1] / words[0]);
    GainTable table(results, "an epoch's gradients", "as they come", "this");
    const Work padded = [&] { epoch(any, true); };
    table.sides(
        "like lengths, with pads", "like_padded", padded, [&] { epoch(like, true); }, 5);
    table.sides(
        "as they come, pads left out", "any_packed", padded, [&] { epoch(any, false); }, 5);
    table.sides(
        "like lengths, pads left out", "like_packed", padded, [&] { epoch(like, false); }, 5);
}

}  // namespace
// [all]
void show_training_cost(std::uint64_t seed, Results& results) {
    show_loss_by_blocks(seed, results);
    show_pads(seed, results);
}

}  // namespace abh
