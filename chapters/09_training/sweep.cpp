#include "chapters/09_training/sweep.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "chapters/09_training/loop/task.hpp"

namespace abh {
// [valley]
void show_optimizers(Results& results) {
    constexpr Index steps = 12;
    const auto go = [&](const char* name, Real rate, auto make) {
        Parameter w(Tensor({2}, {10, 1}));
        auto optimizer = make(Parameters{{"w", &w}});
        Tensor path({2, steps + 1});
        for (Index step = 0; step <= steps; ++step) {
            for (const Index i : {0, 1}) path(i, step) = w.value(i);
            w.grad()(0) = w.value(0);
            w.grad()(1) = 20 * w.value(1);
            optimizer.step(rate);
        }
        fmt::print("{:<9} a{:8.3f}\n{:<8g}  b{:8.3f}\n", name,
                   fmt::join(path.values().first(6), ""), rate,
                   fmt::join(path.values().subspan(steps + 1, 6), ""));
        results.array(fmt::format("valley_{}", name), path);
    };
    go("sgd", Real(0.1), [](const Parameters& p) { return Sgd(p, 0); });
    go("momentum", Real(0.02), [](const Parameters& p) { return Sgd(p, Real(0.9)); });
    go("sign", Real(0.4), [](const Parameters& p) { return Adam(p, {.beta1 = 0, .beta2 = 0}); });
    go("adam", 1, [](const Parameters& p) { return Adam(p); });
}
// [sweep]
void show_sweep(Results& results) {
    constexpr Index seeds = 5, steps = 60;
    struct Kind {
        std::string name, optimizer;
        Index warmup;
        std::vector<Real> rates;
    };
    const std::array<Kind, 3> kinds{
        {{"sgd", "sgd", 0, {Real(1e-4), Real(3e-4), Real(1e-3), Real(3e-3), Real(1e-2)}},
         {"adam", "adam", 0, {Real(1e-5), Real(3e-5), Real(1e-4), Real(3e-4), Real(1e-3)}},
         {"warm", "adam", 40, {Real(3e-5), Real(1e-4), Real(3e-4), Real(1e-3)}}}};
    Table table(results, {{"", "<4"},
                          {"rate", "6.0e"},
                          varying("median loss", "8.4f", "{}_median"),
                          varying("least", "8.4f", "{}_least"),
                          varying("most", "8.4f", "{}_most"),
                          varying("exact of 15", "8.0f", "{}_exact")});
    Task task = toy_task();
    task.training.epochs = steps / 2;
    for (const auto& [name, optimizer, warmup, list] : kinds) {
        task.training.optimizer = optimizer;
        task.training.warmup = warmup;
        const Index n = std::ssize(list);
        Tensor rates({n}), schedule({n, steps}), losses({n, seeds}), curves({n, seeds, steps});
        for (Index i = 0; i < n; ++i) {
            rates(i) = task.training.learning_rate = list[static_cast<std::size_t>(i)];
            std::array<double, seeds> v;
            Index exact = 0;
            for (Index seed = 0; seed < seeds; ++seed) {
                Transformer model(task.model, Random(static_cast<std::uint64_t>(seed + 1)));
                train(model, task.corpus, task.training, [&](const StepReport& r) {
                    curves(i, seed, r.step - 1) = static_cast<Real>(r.loss);
                    schedule(i, r.step - 1) = r.learning_rate;
                });
                const Evaluation e = evaluate(model, task.corpus, task.corpus.train);
                v[static_cast<std::size_t>(seed)] = e.loss;
                losses(i, seed) = static_cast<Real>(e.loss);
                exact += e.exact;
            }
            std::ranges::sort(v);
            table.row(fmt::format("{}_{:.0e}", name, rates(i)), name, rates(i), v[seeds / 2],
                      v.front(), v.back(), exact);
        }
        for (const auto& [what, array] : {std::pair("rates", rates),
                                          {"losses", losses},
                                          {"schedule", schedule},
                                          {"curves", curves}})
            results.array(fmt::format("{}_{}", name, what), array);
    }
    results.set("seeds", seeds);
}

}  // namespace abh
