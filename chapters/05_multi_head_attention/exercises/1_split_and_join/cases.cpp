#include "judge/answer/cases.hpp"

#include <numeric>

#include "chapters/05_multi_head_attention/heads.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const char* of, const Tensor& x, Index n_heads) {
    const Tensor y = split_heads(x, n_heads);
    const Index d_k = y.dim(3);
    Tensor dealt(y.shape()), joined(x.shape());
    for (Index b = 0; b < y.dim(0); ++b)
        for (Index h = 0; h < n_heads; ++h)
            for (Index t = 0; t < y.dim(2); ++t)
                for (Index a = 0; a < d_k; ++a) {
                    dealt(b, h, t, a) = x(b, t, a * n_heads + h);
                    joined(b, t, a * n_heads + h) = y(b, h, t, a);
                }
    const std::string
        bare =
            "a reshape moves nothing; in memory, all words of a head must be together after a "
            "split, and all heads of a word after a join",
        in_turn = "the columns are dealt out in turn, but a head takes neighboring columns";
    cases.add({.criterion = std::string("split ") + of,
               .call = "split_heads",
               .arguments = values(x, n_heads),
               .results = values(y),
               .tolerance = 0,
               .about = fmt::format("x {}, {} heads", x.shape(), n_heads),
               .names = {"x", "n_heads", "y"},
               .mistakes = {{bare, values(x.reshape(y.shape()))}, {in_turn, values(dealt)}}});
    cases.add({.criterion = std::string("join ") + of,
               .call = "join_heads",
               .arguments = values(y),
               .results = values(join_heads(y)),
               .tolerance = 0,
               .about = fmt::format("x {}", y.shape()),
               .names = {"x", "y"},
               .mistakes = {{bare, values(y.reshape(x.shape()))}, {in_turn, values(joined)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    Tensor counted({1, 3, 4});
    std::iota(counted.values().begin(), counted.values().end(), Real(0));
    add(cases, "one sentence", counted, 2);
    add(cases, "one sentence", cases.normal({1, 5, 6}), 3);
    add(cases, "one sentence", cases.normal({1, 3, 4}), 4);
    add(cases, "a batch", cases.normal({2, 3, 8}), 4);
    add(cases, "a batch", cases.normal({3, 5, 7}), 1);
    add(cases, "a batch", cases.normal({4, 1, 6}), 2);
    add(cases, "a batch", cases.normal({3, 3, 9}), 3);
}
