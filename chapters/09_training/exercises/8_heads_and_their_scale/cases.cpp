#include "chapters/09_training/exercises/small_model.hpp"

using namespace abh;
using namespace abh::judge;

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Index seed = cases.between(2, 999);
    TrainingOptions options;
    options.momentum = Real(0.9);
    options.learning_rate = static_cast<Real>(cases.between(10, 30)) / 10000;
    cases.given(values(seed, options.learning_rate), {"SEED", "RATE"});
    const auto with = [&](Index n_heads, Real scale) {
        TransformerOptions model = small_model();
        model.layer.attention.n_heads = n_heads;
        model.layer.attention.attention.scale = scale;
        return losses(model, options, seed).back();
    };
    const double one = with(1, 0), sixteen = with(16, 0), four = with(4, 0), unscaled = with(4, 1);
    const auto add = [&](const char* criterion, const char* line, double right,
                         const std::vector<std::pair<const char*, double>>& wrong) {
        cases.add(reported(criterion, line, right, values(seed, options.learning_rate),
                           {"SEED", "RATE"}, wrong));
    };
    const char* const unchanged = "this is the small model unchanged, with four heads";
    add("one head", "one_head", one, {{unchanged, four}, {"this has 16 heads", sixteen}});
    add("sixteen heads", "sixteen", sixteen, {{unchanged, four}, {"this has one head", one}});
    add("no scale", "unscaled", unscaled, {{unchanged, four}});
}
