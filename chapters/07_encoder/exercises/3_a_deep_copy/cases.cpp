#include "judge/answer/cases.hpp"

#include "model.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Tensor forward_backward(Encoder& encoder, const Tensor& x, const Tensor& dy) {
    Encoder::Cache cache;
    const Tensor y = encoder.forward(x, {}, &cache);
    encoder.backward(dy, cache);
    return y;
}

void add(Cases& cases, Index n_layers, bool pre) {
    const Index d_model = 4, seed = cases.between(1, 1'000'000), weight = cases.between(0, 1000);
    const LayerOptions options = options_of(d_model, pre);
    const Tensor x = cases.normal({2, 3, d_model}), dy = cases.normal(x.shape()),
                 dy_of_copy = cases.normal(x.shape());
    Encoder original = encoder_of(options, n_layers, seed),
            other = encoder_of(options, n_layers, seed);
    const Tensor y = forward_backward(original, x, dy);
    forward_backward(other, x, dy_of_copy);

    const Parameters a = parameters_of(original), b = parameters_of(other);
    const std::size_t i = static_cast<std::size_t>(weight) % a.size();
    const std::string name = b[i].name;
    const Tensor g = a[i].parameter->grad(), g_of_copy = b[i].parameter->grad(),
                 sum = g + g_of_copy;
    const std::string about =
        fmt::format("{} layers, {}, weight {}", n_layers, pre ? "pre" : "post", name);
    Encoder hit = encoder_of(options, n_layers, seed);
    parameters_of(hit)[i].parameter->value.fill(42);
    Random random(0);
    const Tensor y_fresh = Encoder(options, n_layers, random).forward(x, {});
    const char* const not_same = "these are not the original's values";
    cases.add({.criterion = "values",
               .call = "copied",
               .arguments = values(x, n_layers, pre, weight, seed),
               .results = values(y, y, y),
               .about = about,
               .names = {"x", "n_layers", "pre", "weight", "seed", "what the original gives",
                         "what the copy gives",
                         "what the original gives after 42 is written into the copy"},
               .mistakes = {{"the copy shares the elements of this weight with the original",
                             values(y, y, hit.forward(x, {}))},
                            {not_same, values(y, y_fresh, y)}}});
    cases.add({.criterion = "gradients",
               .call = "gradients",
               .arguments = values(x, dy, dy_of_copy, n_layers, pre, weight, seed),
               .results = values(g, g_of_copy),
               .about = about,
               .names = {"x", "dy", "dy of the copy", "n_layers", "pre", "weight", "seed",
                         "the original's gradient", "the copy's gradient"},
               .mistakes = {{"the copy's backward pass adds to the original's gradients",
                             values(sum, g_of_copy)},
                            {"the copy starts from the original's gradients instead of from zero",
                             values(g, sum)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const Index n_layers : {1, 3})
        for (const bool pre : {false, true})
            for (int trial = 0; trial < 3; ++trial) add(cases, n_layers, pre);
    for (const char* criterion :
         {"your test notices shared values", "your test notices shared gradients"}) {
        cases.add_test(criterion, "own", "your own copy_of");
        cases.add_test(criterion, "right", "a correct function that is not yours");
    }
    for (const char* what : {"the same handles", "parameters assigned", "values shared",
                             "the first layer alone copied", "fresh weights"})
        cases.add_test("your test notices shared values", what, fmt::format("this copy: {}", what));
    for (const char* what : {"gradients shared", "gradients copied"})
        cases.add_test("your test notices shared gradients", what,
                       fmt::format("this copy: {}", what));
}
