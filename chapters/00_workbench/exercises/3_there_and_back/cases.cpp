#include "judge/answer/cases.hpp"

#include "lib/matmul.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Tensor there_and_back(const Tensor& x, const Tensor& weight) {
    return matmul(matmul(x, weight, {.transpose_b = true}), weight);
}

void add(Cases& cases, const Tensor& x, const Tensor& weight, const Tensor& dy) {
    const Tensor h = matmul(x, weight, {.transpose_b = true});
    const Tensor dh = matmul(dy, weight, {.transpose_b = true});
    const Tensor dx = matmul(dh, weight);
    const Tensor back = matmul(h, dy, {.transpose_a = true});
    const Tensor there = matmul(dh, x, {.transpose_a = true});
    const auto forward = [&] { return there_and_back(x, weight); };
    require_close(dx, differences(forward, x, dy), "dx");
    require_close(back + there, differences(forward, weight, dy), "dW");

    const std::string about = fmt::format("x {}, W {}", x.shape(), weight.shape());
    cases.add({.criterion = "forward",
               .call = "there_and_back",
               .arguments = values(x, weight),
               .results = values(forward()),
               .about = about,
               .names = {"x", "W", "y"}});
    cases.add({.criterion = "dx",
               .call = "dx",
               .arguments = values(dy, x, weight),
               .results = values(dx),
               .about = about,
               .names = {"dy", "x", "W", "dx"}});
    const Tensor before = cases.normal(weight.shape());
    for (const Tensor& held : {Tensor::zeros(weight.shape()), before}) {
        const bool zero = !held.is(before);
        std::vector<Mistake> mistakes = {
            {"this is the term from the way back alone, but W is used twice", values(held + back)},
            {"this is the term from the way there alone, but W is used twice",
             values(held + there)}};
        if (!zero) {
            mistakes.push_back({"what dW held before is lost", values(back + there)});
            for (const Tensor& term : {there, back})
                mistakes.push_back(
                    {"what dW held before is lost, and so is one of the two terms", values(term)});
        }
        cases.add({.criterion = zero ? "dW" : "dW adds",
                   .call = "dW",
                   .arguments = values(dy, x, weight, held),
                   .results = values(held + back + there),
                   .about = about + (zero ? ", dW was 0 before" : ", dW was random before"),
                   .names = {"dy", "x", "W", "what dW held", "dW"},
                   .mistakes = mistakes});
    }
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, Tensor({1, 2}, {1, 2}), Tensor({1, 2}, {3, -1}), Tensor({1, 2}, {1, 0}));
    const Index R = cases.between(2, 7);
    for (const auto& [d_in, d_out] : {std::array<Index, 2>{5, 3}, {2, 4}, {1, 3}, {4, 4}})
        add(cases, cases.normal({R, d_in}), cases.normal({d_out, d_in}), cases.normal({R, d_in}));
}
