#include "judge/answer/cases.hpp"

#include "lib/eigen.hpp"
#include "lib/linear.hpp"
#include "lib/matmul.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

struct Problem {
    Tensor dy, x, weight, bias;
};

Problem draw(Cases& cases, const Shape& shape, Index d_out, bool with_bias) {
    return {cases.normal(shape.with(-1, d_out)), cases.normal(shape),
            cases.normal({d_out, shape[-1]}), with_bias ? cases.normal({d_out}) : Tensor()};
}

struct Gradients {
    Tensor dx;
    std::vector<Tensor> parameters;  // of weight, and of the bias if there is one
};

Gradients gradients(const Problem& p) {
    Random random(1);
    Linear map(p.weight.dim(1), p.weight.dim(0), !p.bias.empty(), random);
    map.weight.value = p.weight.clone();
    map.bias.value = p.bias.clone();
    Linear::Cache cache;
    map.forward(p.x, &cache);
    Gradients g{map.backward(p.dy, cache), {map.weight.grad()}};
    const auto check = [&](const Tensor& at, const Tensor& found, const char* what) {
        require_close(found, differences([&] { return map.forward(p.x); }, at, p.dy), what);
    };
    check(p.x, g.dx, "dx");
    check(map.weight.value, g.parameters[0], "dW");
    if (p.bias.empty()) return g;
    check(map.bias.value, map.bias.grad(), "db");
    g.parameters.push_back(map.bias.grad());
    return g;
}

std::string about(const Problem& p) {
    return fmt::format("x {}, dy {}, {}", p.x.shape(), p.dy.shape(),
                       p.bias.empty() ? "no bias" : "with bias");
}

std::vector<std::pair<std::string, double>> sizes(const Problem& p) {
    const auto number = [](Index n) { return static_cast<double>(n); };
    return {{"R", number(rows(p.x.shape()))},
            {"d_in", number(p.x.dim(-1))},
            {"d_out", number(p.dy.dim(-1))}};
}

void add_dx(Cases& cases, const Problem& p) {
    cases.add({.criterion = "dx",
               .call = "dx",
               .arguments = values(p.dy, p.x, p.weight, p.bias),
               .results = values(gradients(p).dx),
               .about = about(p),
               .names = {"dy", "x", "weight", "bias", "dx"},
               .constants = sizes(p)});
}

void add_parameters(Cases& cases, const char* criterion, const Problem& p) {
    const std::vector<Tensor> right = gradients(p).parameters;
    const Tensor dy = p.dy.reshape({rows(p.dy.shape()), p.dy.dim(-1)});
    const Tensor x = p.x.reshape({dy.dim(0), p.x.dim(-1)});
    std::vector<Tensor> reshaped = right;
    reshaped[0] = matmul(dy.reshape({dy.dim(1), dy.dim(0)}), x);
    cases.add({.criterion = criterion,
               .call = "parameters",
               .arguments = values(p.dy, p.x, p.weight, p.bias),
               .results = values(right),
               .about = about(p),
               .names = {"dy", "x", "weight", "bias", "dW", "db"},
               .constants = sizes(p),
               .mistakes = {{"dy is reshaped where it should be transposed", values(reshaped)}}});
}

void add_twice(Cases& cases, const Problem& p, const Problem& q) {
    const std::vector<Tensor> first = gradients(p).parameters;
    const std::vector<Tensor> second = gradients({q.dy, q.x, p.weight, p.bias}).parameters;
    std::vector<Tensor> sum;
    for (std::size_t i = 0; i < first.size(); ++i) sum.push_back(first[i] + second[i]);
    cases.add({.criterion = "gradients add",
               .call = "twice",
               .arguments = values(p.dy, p.x, p.weight, p.bias, q.dy, q.x),
               .results = values(sum),
               .about = "called for two batches, one after the other",
               .names = {"dy", "x", "weight", "bias", "second dy", "second x", "dW", "db"},
               .mistakes = {{"the gradient of the first batch is lost; add to what is there",
                             values(second)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Index L = cases.between(5, 7);
    const Shape shapes[] = {{L, 4}, {1, 2}, {5}, {3, L, 2}, {2, 1, L, 3}};
    const Problem by_hand{Tensor({1, 2}, {1, 2}), Tensor({1, 2}, {3, -1}),
                          Tensor({2, 2}, {1, 0, 4, -2}), Tensor({2}, {0, 1})};
    for (const Shape& shape : shapes) add_dx(cases, draw(cases, shape, 3, true));
    for (const Shape& shape : shapes)
        add_parameters(cases, "weight and bias", draw(cases, shape, 3, true));
    add_dx(cases, by_hand);
    add_parameters(cases, "weight and bias", by_hand);
    add_parameters(cases, "no bias", draw(cases, {L, 4}, 5, false));
    add_parameters(cases, "no bias", draw(cases, {2, L, 4}, 1, false));
    add_twice(cases, draw(cases, {L, 4}, 3, true), draw(cases, {2, 4}, 3, true));
    add_twice(cases, draw(cases, {2, L, 3}, 3, true), draw(cases, {1, 2, 3}, 3, true));
}
