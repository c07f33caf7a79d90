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
    TransformerOptions small = small_model(), deep = small;
    deep.n_encoder_layers = deep.n_decoder_layers = 8;
    TransformerOptions pre = deep, small_pre = small;
    pre.layer.add_norm.placement = small_pre.layer.add_norm.placement = NormPlacement::pre;
    const double one = losses(small, options, seed).back(),
                 deep_post = losses(deep, options, seed).back(),
                 deep_pre = losses(pre, options, seed).back(),
                 one_pre = losses(small_pre, options, seed).back();
    const auto add = [&](const char* criterion, const char* line, double right,
                         const std::vector<std::pair<const char*, double>>& wrong) {
        cases.add(reported(criterion, line, right, values(seed, options.learning_rate),
                           {"SEED", "RATE"}, wrong));
    };
    add("one layer", "one", one,
        {{"this is one layer with pre-norm", one_pre},
         {"this is the loss for seed 1", losses(small, options, 1).back()}});
    add("eight layers, post", "post", deep_post,
        {{"this is one layer", one}, {"this is pre-norm", deep_pre}});
    add("eight layers, pre", "pre", deep_pre,
        {{"this is one layer with pre-norm", one_pre}, {"this is post-norm", deep_post}});
}
