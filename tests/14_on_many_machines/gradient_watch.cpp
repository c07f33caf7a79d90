// Per way: which gradients are complete while backward runs.
#include "chapters/14_on_many_machines/data_parallel/gradient_watch.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "chapters/09_training/loop/training.hpp"
#include "tests/14_on_many_machines/small_training.hpp"
#include "tests/support.hpp"
#include "tests/transformers.hpp"

using namespace abh;

TEST_CASE("each gradient is known to be complete once, that of a shared table after its last use") {
    const Batch batch = drawn_batches().front();
    std::vector<TransformerOptions> all{small(), marian_like(), paper_like(NormPlacement::pre)};
    all.push_back(small());
    all.back().tied = Tied::target;
    for (TransformerOptions o : all) {
        o.src_words = o.tgt_words = 13;
        Transformer model(o, Random(5));
        const Parameters parameters = parameters_of(model);
        Trainer trainer(model, adam);
        std::vector<Tensor> known(parameters.size());
        std::optional<GradientWatch> watch;
        watch.emplace(parameters, [&] {
            for (std::size_t i = 0; i < parameters.size(); ++i)
                if (known[i].empty() && watch->complete(i))
                    known[i] = parameters[i].parameter->grad().clone();
        });
        for (int time = 0; time < 2; ++time) {
            INFO("time " << time);
            CHECK(std::ranges::all_of(known, &Tensor::empty));
            watch->begin(1);
            trainer.begin();
            trainer.add_part(batch, batch.n_targets, 0);
            watch->end();
        }
        std::string late;  // what is complete only when backward is over
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            INFO(parameters[i].name);
            if (known[i].empty())
                late += parameters[i].name + " ";
            else
                CHECK(max_difference(known[i], parameters[i].parameter->grad()) == 0);
        }
        CHECK(late == parameters.front().name + " ");
    }
}

TEST_CASE("a gradient that is added to after it was complete is an error") {
    Transformer model(small(), Random(5));
    const Parameters parameters = parameters_of(model);
    Trainer trainer(model, adam);
    const Batch batch = drawn_batches().front();
    GradientWatch watch(parameters, [] {});
    const auto parts = [&](Index count, Index told) {
        watch.begin(told);
        trainer.begin();
        for (Index part = 0; part < count; ++part)
            trainer.add_part(batch, count * batch.n_targets, part);
        watch.end();
    };
    parts(1, 1);
    parts(2, 2);
    CHECK_THROWS_WITH(parts(2, 1), Contains("output adds to its gradients, which were complete"));
    watch.end();
    trainer.begin();
    CHECK_NOTHROW(trainer.add_part(batch, batch.n_targets, 0));  // nobody watches
}
