#include "judge/answer/cases.hpp"

#include "lib/eigen.hpp"
#include "lib/linear.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const char* criterion, const Tensor& x, const Tensor& weight,
         const Tensor& bias) {
    Random random(1);
    Linear map(weight.dim(1), weight.dim(0), !bias.empty(), random);
    map.weight.value = weight;
    map.bias.value = bias;
    const Tensor y = map.forward(x);
    Case c{.criterion = criterion,
           .call = "linear",
           .arguments = values(x, weight, bias),
           .results = values(y),
           .about = fmt::format("x {}, weight {}, {}", x.shape(), weight.shape(),
                                bias.empty() ? "no bias" : "with bias"),
           .names = {"x", "weight", "bias", "y"}};
    if (!bias.empty()) {
        Tensor without = y.clone(), often = y.clone();
        matrix(without).rowwise() -= vector(bias).transpose();
        matrix(often).rowwise() += static_cast<Real>(map.d_in() - 1) * vector(bias).transpose();
        c.mistakes = {
            {"the bias is missing", values(without)},
            {"the bias is added once per j: it belongs outside the innermost loop", values(often)}};
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "a matrix", Tensor({1, 2}, {2, -1}), Tensor({3, 2}, {1, 3, 0, 2, -1, 1}),
        Tensor({3}, {1, 0, 4}));
    for (const auto& [R, d_in, d_out] : {std::array<Index, 3>{5, 3, 4}, {2, 7, 1}, {4, 1, 3}})
        add(cases, "a matrix", cases.normal({R, d_in}), cases.normal({d_out, d_in}),
            cases.normal({d_out}));
    const Index L = cases.between(2, 6);
    add(cases, "any leading axes", cases.normal({6}), cases.normal({5, 6}), cases.normal({5}));
    add(cases, "any leading axes", cases.normal({3, L, 4}), cases.normal({2, 4}),
        cases.normal({2}));
    add(cases, "any leading axes", cases.normal({2, 3, L, 3}), cases.normal({7, 3}),
        cases.normal({7}));
    add(cases, "no bias", cases.normal({L, 5}), cases.normal({3, 5}), Tensor());
    add(cases, "no bias", cases.normal({L, 2}), cases.normal({4, 2}), Tensor());
}
