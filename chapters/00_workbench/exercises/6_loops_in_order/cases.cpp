#include "judge/answer/cases.hpp"

#include "lib/matmul.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const char* criterion, Index m, Index k, Index n) {
    const Tensor a = cases.normal({m, k}), b = cases.normal({k, n});
    cases.add({.criterion = criterion,
               .call = "product",
               .arguments = values(a, b),
               .results = values(matmul(a, b)),
               .about = fmt::format("a {}, b {}", a.shape(), b.shape()),
               .names = {"a", "b", "c"}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const auto& [m, k, n] :
         {std::array<Index, 3>{1, 1, 1}, {3, 5, 2}, {1, 7, 4}, {6, 1, 3}, {33, 17, 65}})
        add(cases, "the product", m, k, n);
    add(cases, "three times as fast", 160, 512, 512);
}
