#include "judge/cases.hpp"

#include <cmath>

#include "chapters/09_training/training.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// The losses of all steps of one run of chapter 9's program.
std::vector<double> losses(TrainingOptions options, Index seed) {
    Task task = toy_task();
    task.model.n_encoder_layers = task.model.n_decoder_layers = 1;
    task.model.layer.attention.d_model = 64;
    task.model.layer.attention.n_heads = 4;
    task.model.layer.d_ff = 128;
    options.epochs = 10;
    Transformer model(task.model, Random(static_cast<std::uint64_t>(seed)));
    std::vector<double> list;
    train(model, task.corpus, options, [&](const StepReport& r) { list.push_back(r.loss); });
    return list;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Index seed = cases.between(2, 999), warmup = cases.between(12, 30);
    const Real rate = static_cast<Real>(cases.between(12, 40)) / 10000;
    TrainingOptions adam, sgd;
    adam.optimizer = "adam";
    adam.learning_rate = sgd.learning_rate = rate;
    sgd.momentum = Real(0.9);
    TrainingOptions warm = adam;
    warm.warmup = warmup;
    const std::vector<double> a = losses(adam, seed), w = losses(warm, seed), s = losses(sgd, seed);
    TrainingOptions toy = sgd;
    toy.momentum = Real(0.99);
    const std::vector<double> first_seed = losses(adam, 1), toy_momentum = losses(toy, seed);
    const auto add = [&](const char* criterion, const char* line, double right,
                         const std::vector<std::pair<const char*, double>>& wrong) {
        Case c{.criterion = criterion,
               .call = line,
               .arguments = values(seed, rate, warmup),
               .results = values(right),
               .tolerance = 2e-3,  // for four digits, and for what a float rounds in twenty steps
               .names = {"SEED", "RATE", "WARMUP"}};
        for (const auto& [says, loss] : wrong)
            c.mistakes.push_back({says, values(std::round(loss * 1e6) / 1e6)});  // as printed
        cases.add(c);
    };
    const char *const seed_1 = "this is the loss for the seed 1",
                      *const one_before = "this is the last step but one";
    add("the first step", "first", a.front(),
        {{seed_1, first_seed.front()}, {"this is the second step", a[1]}});
    add("a constant rate", "constant", a.back(),
        {{seed_1, first_seed.back()},
         {"this is the run with a warm-up", w.back()},
         {one_before, a[a.size() - 2]}});
    add("a warm-up", "warm", w.back(),
        {{"this is the run at a constant rate", a.back()}, {one_before, w[w.size() - 2]}});
    add("gradient descent", "descent", s.back(),
        {{"this is the toy's own momentum, 0.99", toy_momentum.back()},
         {one_before, s[s.size() - 2]}});
}
