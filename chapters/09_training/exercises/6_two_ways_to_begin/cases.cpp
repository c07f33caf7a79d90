#include "chapters/09_training/exercises/small_model.hpp"

using namespace abh;
using namespace abh::judge;

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Index seed = cases.between(2, 999), warmup = cases.between(12, 30);
    const Real rate = static_cast<Real>(cases.between(12, 40)) / 10000;
    cases.given(values(seed, rate, warmup), {"SEED", "RATE", "WARMUP"});
    TrainingOptions adam, sgd;
    adam.optimizer = "adam";
    adam.learning_rate = sgd.learning_rate = rate;
    sgd.momentum = Real(0.9);
    TrainingOptions warm = adam, toy = sgd;
    warm.warmup = warmup;
    toy.momentum = Real(0.99);
    const TransformerOptions small = small_model();
    const std::vector<double> a = losses(small, adam, seed), w = losses(small, warm, seed),
                              s = losses(small, sgd, seed), first_seed = losses(small, adam, 1),
                              toy_momentum = losses(small, toy, seed);
    const auto add = [&](const char* criterion, const char* line, double right,
                         const std::vector<std::pair<const char*, double>>& wrong) {
        cases.add(reported(criterion, line, right, values(seed, rate, warmup),
                           {"SEED", "RATE", "WARMUP"}, wrong));
    };
    const char *const seed_1 = "this is the loss for seed 1",
                      *const one_before = "this is the loss of the last step but one";
    add("the first step", "first", a.front(),
        {{seed_1, first_seed.front()}, {"this is the second step", a[1]}});
    add("a constant rate", "constant", a.back(),
        {{seed_1, first_seed.back()},
         {"this is the run with a warm-up", w.back()},
         {one_before, a[a.size() - 2]}});
    add("a warm-up", "warm", w.back(),
        {{"this is the run at a constant rate", a.back()}, {one_before, w[w.size() - 2]}});
    add("gradient descent", "descent", s.back(),
        {{"this is the run with the toy's own momentum, 0.99", toy_momentum.back()},
         {one_before, s[s.size() - 2]}});
}
