// Per way: one training on any number of ranks.
#include "chapters/14_on_many_machines/data_parallel/data_parallel.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "chapters/09_training/loop/training.hpp"
#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "tests/13_real_translation/pairs.hpp"
#include "tests/14_on_many_machines/small_training.hpp"
#include "tests/support.hpp"
#include "tests/transformers.hpp"

using namespace abh;

namespace {

struct Trained {
    std::vector<double> losses, norms;
    Tensor weights;
    Index memory = 0;  ///< elements that the optimizer remembers
};

/// Values, or gradients, as one row.
Tensor row_of(const Parameters& parameters, bool gradients = false) {
    Tensor row({count_elements(parameters)});
    Real* to = row.data();
    for (const NamedParameter& p : parameters) {
        const Tensor& from = gradients ? p.parameter->grad() : p.parameter->value;
        to = std::copy(from.values().begin(), from.values().end(), to);
    }
    return row;
}

/// Trains on `ranks` ranks with so many shards; what rank `of` has in the end.
Trained trained(Index ranks, Index shards, const TransformerOptions& o = small(),
                const TrainingOptions& options = adam, Index at_once = 1, Index of = 0,
                bool overlap = true) {
    const std::vector<Batch> batches = drawn_batches();
    Trained result;
    run_local_ranks(ranks, [&](Ranks& team) {
        Transformer model(o, Random(5));
        if (!team.first()) model.output.bias.value.fill(1);  // rank 0's weights count
        DataParallel steps(model, options, team,
                           {.shards = shards, .overlap = overlap, .bucket = 300});
        Trained own;
        for (std::size_t i = 0; i + static_cast<std::size_t>(at_once) <= batches.size();
             i += static_cast<std::size_t>(at_once)) {
            own.losses.push_back(steps.forward_backward(
                std::span(batches).subspan(i, static_cast<std::size_t>(at_once))));
            own.norms.push_back(steps.clip(1));
            steps.update(options.learning_rate);
        }
        own.weights = row_of(parameters_of(model));
        for (const NamedTensor& t : steps.optimizer().memory()) own.memory += t.tensor.size();
        if (team.rank() == of) result = own;
    });
    return result;
}

bool same_bits(const Trained& a, const Trained& b) {
    return a.losses == b.losses && a.norms == b.norms &&
           std::equal(a.weights.values().begin(), a.weights.values().end(),
                      b.weights.values().begin());
}

}  // namespace

TEST_CASE("losses, norms and weights are the same bits on 1, 2, 3 and 4 ranks") {
    const Trained alone = trained(1, 4);
    REQUIRE(alone.losses.size() > 5);
    CHECK(alone.losses.back() < alone.losses.front());
    for (const Index ranks : {2, 3, 4})
        for (Index of = 0; of < ranks; ++of)
            CHECK(same_bits(trained(ranks, 4, small(), adam, 1, of), alone));
    CHECK(same_bits(trained(3, 8), trained(1, 8)));  // several nodes of the tree on a rank
}

TEST_CASE(
    "accumulated batches, SGD and tied tables are the same bits on any number of ranks, too") {
    CHECK(same_bits(trained(2, 4, small(), adam, 2), trained(1, 4, small(), adam, 2)));
    const TrainingOptions sgd{.learning_rate = Real(1e-2), .momentum = Real(0.9)};
    CHECK(same_bits(trained(2, 4, small(), sgd), trained(1, 4, small(), sgd)));
    TransformerOptions o = small();
    o.tied = Tied::all;
    CHECK(same_bits(trained(4, 4, o), trained(1, 4, o)));
}

TEST_CASE("shards change no more than round-off where nothing is dropped") {
    const Trained whole = trained(1, 1, small(0));
    for (const Index shards : {2, 4, 5}) {
        const Trained cut = trained(1, shards, small(0));
        for (std::size_t i = 0; i < whole.losses.size(); ++i)
            CHECK(cut.losses[i] == Approx(whole.losses[i]).epsilon(in_double ? 1e-9 : 1e-4));
    }
    // the first step, before Adam divides what round-off left by what round-off left
    const Trained cut = trained(1, 4, small(0));
    CHECK(cut.losses[0] == Approx(whole.losses[0]).epsilon(in_double ? 1e-13 : 1e-6));
    CHECK(cut.norms[0] == Approx(whole.norms[0]).epsilon(in_double ? 1e-12 : 1e-5));
}

TEST_CASE("each shard drops elements of its own, the first one those of a batch that is not cut") {
    // one sentence as often as there are shards: each shard computes the same but for dropout
    const std::vector<IdPair> pairs(4, drawn_pairs(1, 4).front());
    const std::vector<Index> all{0, 1, 2, 3}, one{0};
    run_local_ranks(1, [&](Ranks& alone) {
        std::vector<double> losses;
        for (const auto& [numbers, shards] : {std::pair{one, Index{1}}, {all, Index{4}}})
            for (const Real dropout : {Real(0), Real(0.1)}) {
                Transformer model(small(dropout), Random(5));
                DataParallel steps(model, adam, alone, {.shards = shards, .bucket = 300});
                losses.push_back(steps.forward_backward(make_batch(pairs, numbers, {})));
            }
        CHECK(losses[2] == Approx(losses[0]).epsilon(in_double ? 1e-13 : 1e-6));
        CHECK(std::abs(losses[3] - losses[1]) > 1e-4);

        Transformer model(small(Real(0.1)), Random(5));  // and so does each batch of a step
        DataParallel steps(model, adam, alone, {.shards = 1, .bucket = 300});
        const std::vector<Batch> twice(2, make_batch(pairs, one, {}));
        CHECK(std::abs(steps.forward_backward(twice) - losses[1]) > 1e-4);
    });
}

TEST_CASE("one rank and one shard train as the trainer of chapter 9 does") {
    const std::vector<Batch> batches = drawn_batches();
    Transformer model(small(), Random(5));
    Trainer trainer(model, adam);
    Trained expected;
    for (const Batch& batch : batches) {
        trainer.begin();
        expected.losses.push_back(trainer.add_part(batch, batch.n_targets, 0));
        expected.norms.push_back(clip_gradients(parameters_of(model), 1));
        trainer.update(adam.learning_rate);
    }
    const Trained cut = trained(1, 1);
    for (std::size_t i = 0; i < batches.size(); ++i) {
        CHECK(cut.losses[i] == Approx(expected.losses[i]).epsilon(in_double ? 1e-10 : 1e-5));
        CHECK(cut.norms[i] == Approx(expected.norms[i]).epsilon(in_double ? 1e-9 : 1e-4));
    }
}

TEST_CASE("each rank remembers Adam's means for its own slice alone") {
    Transformer model(small(), Random(5));
    const Index all = 2 * count_elements(parameters_of(model));
    CHECK(trained(1, 4).memory == all);
    Index sum = 0;
    for (Index of = 0; of < 3; ++of) sum += trained(3, 4, small(), adam, 1, of).memory;
    CHECK(sum == all);
}

TEST_CASE("gradients that leave during backward are the same bits, and leave before it is over") {
    TransformerOptions o = small();
    for (const Tied which : {Tied::none, Tied::all}) {
        o.tied = which;
        CHECK(same_bits(trained(2, 4, o), trained(2, 4, o, adam, 1, 0, false)));
    }
    CHECK(same_bits(trained(2, 4, small(), adam, 2), trained(2, 4, small(), adam, 2, 0, false)));
    const Batch batch = drawn_batches().front();
    for (const bool overlap : {true, false})
        run_local_ranks(2, [&](Ranks& team) {
            Transformer model(small(), Random(5));
            DataParallel steps(model, adam, team, {.shards = 2, .overlap = overlap, .bucket = 300});
            for (int step = 0; step < 2; ++step) {  // the first shows what a backward does
                steps.forward_backward(batch);
                steps.clip(0);
            }
            const std::vector<Trip>& trips = steps.sum().trips();
            require(trips.size() > 5, "{} buckets", trips.size());
            require((trips.front().left < steps.sum().computed()) == overlap,
                    "the first bucket left after {} ms of {}", trips.front().left,
                    steps.sum().computed());
            for (std::size_t b = 0; b < trips.size(); ++b)
                require(trips[b].arrived >= trips[b].left &&
                            (b == 0 || trips[b].left >= trips[b - 1].left),
                        "bucket {} left after {} ms and arrived after {}", b, trips[b].left,
                        trips[b].arrived);
        });
}

TEST_CASE("in bfloat16 gradients send half the bytes, and a step moves all ranks alike") {
    const Batch batch = drawn_batches().front();
    std::vector<Tensor> gradients, weights;
    std::vector<Index> bytes;
    for (const bool bfloat16 : {false, true}) {
        const auto of_ranks = of_local_ranks(2, [&](Ranks& team) {
            Transformer model(small(), Random(5));
            DataParallel steps(model, adam, team,
                               {.shards = 2, .bfloat16 = bfloat16, .bucket = 300});
            const Index before = team.traffic().bytes;
            steps.forward_backward(batch);
            if (team.first()) {
                bytes.push_back(team.traffic().bytes - before);
                gradients.push_back(row_of(steps.slices(), true));
            }
            steps.update(Real(1e-2));
            return row_of(parameters_of(model));
        });
        CHECK(max_difference(of_ranks[0], of_ranks[1]) == 0);
        weights.push_back(of_ranks[0]);
    }
    Transformer model(small(), Random(5));
    const Index others = count_elements(parameters_of(model)) - gradients[0].size();
    CHECK(bytes[0] - bytes[1] == others * (static_cast<Index>(sizeof(Real)) - 2));
    gradients[0] *= -1;
    const Tensor error = gradients[0] + gradients[1];
    const double relative = std::sqrt(dot(error, error) / dot(gradients[0], gradients[0]));
    CHECK(relative > 1e-5);
    CHECK(relative < 1.0 / 256);  // half the distance of neighbors: a 256th at most
    CHECK(max_difference(weights[0], weights[1]) > 0);
}

TEST_CASE("shards are neighbors with about equally many words, and none is lost") {
    for (const Batch& batch : drawn_batches())
        for (const Index shards : {1, 2, 4, 7}) {
            const std::vector<Index> first = cut_into_shards(batch, shards, 0);
            REQUIRE(first.size() == static_cast<std::size_t>(shards) + 1);
            CHECK(first.front() == 0);
            CHECK(first.back() == batch.source.ids.dim(0));
            CHECK(std::is_sorted(first.begin(), first.end()));
        }
    const Ids source({4, 3}, {5, 5, 5, 5, 0, 0, 5, 0, 0, 5, 0, 0});
    const Batch uneven = make_batch(source, source, source);
    CHECK(cut_into_shards(uneven, 2, 0) == std::vector<Index>{0, 1, 4});  // 3 words, 3 words
    CHECK_THROWS_WITH(trained(3, 2), Contains("2 shards for 3 ranks"));
}

TEST_CASE("a batch of fewer sentences than ranks is computed, and some ranks add zeros") {
    const std::vector<IdPair> pairs = drawn_pairs(2, 4);
    const std::vector<Index> both{0, 1};
    const Batch batch = make_batch(pairs, both, {});
    const auto found = of_local_ranks(4, [&](Ranks& team) {
        Transformer model(small(0), Random(5));
        DataParallel steps(model, adam, team, {.shards = 4, .bucket = 300});
        const double loss = steps.forward_backward(batch);
        steps.update(Real(1e-2));
        return std::pair(loss, row_of(parameters_of(model)));
    });
    Transformer model(small(0), Random(5));
    Trainer whole(model, adam);
    const auto& [first_loss, first_weights] = found.front();
    CHECK(first_loss == Approx(whole.step(batch, Real(1e-2))).epsilon(in_double ? 1e-13 : 1e-6));
    for (const auto& [loss, weights] : found) {
        CHECK(loss == first_loss);
        CHECK(same_bits(weights, first_weights));
    }
}

TEST_CASE("what the slices' optimizers remember is put together and taken apart") {
    const std::vector<Batch> batches = drawn_batches();
    const auto after = [&](Index before, Index later) {
        std::vector<Tensor> memory;
        Tensor weights;
        const auto train = [&](Index ranks, std::size_t first, std::size_t end) {
            const Tensor given = weights;
            return of_local_ranks(ranks, [&](Ranks& team) {
                Transformer model(small(), Random(5));
                const Parameters parameters = parameters_of(model);
                Index from = 0;
                for (const NamedParameter& p : parameters) {
                    Tensor& value = p.parameter->value;
                    if (first > 0) std::copy_n(given.data() + from, value.size(), value.data());
                    from += value.size();
                }
                DataParallel steps(model, adam, team, {.shards = 4, .bucket = 300});
                if (first > 0) steps.remember(memory, static_cast<Index>(first));
                model.random().go_to(first);
                for (std::size_t i = first; i < end; ++i) {
                    steps.forward_backward(batches[i]);
                    steps.update(Real(1e-2));
                }
                std::vector<Tensor> own;
                for (const NamedTensor& t : steps.memory()) own.push_back(t.tensor);
                return std::pair(own, row_of(parameters));
            });
        };
        std::tie(memory, weights) = train(before, 0, 3).front();
        return train(later, 3, 6).front().second;
    };
    const Tensor alone = after(1, 1);
    CHECK(max_difference(after(3, 2), alone) == 0);
    CHECK(max_difference(after(1, 4), alone) == 0);
    CHECK(max_difference(after(4, 1), alone) == 0);
}
