#include "judge/answer/cases.hpp"

#include <algorithm>
#include <cmath>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

struct Right {
    Tensor w, log_sums, largest;
};

Right right(const Tensor& z) {
    Right r{softmax(z), Tensor({z.dim(0)}), Tensor({z.dim(0)})};
    for (Index i = 0; i < z.dim(0); ++i) {
        r.largest(i) = z(i, 0);
        for (Index j = 1; j < z.dim(1); ++j) r.largest(i) = std::max(r.largest(i), z(i, j));
        Real sum = 0;
        for (Index j = 0; j < z.dim(1); ++j) sum += std::exp(z(i, j) - r.largest(i));
        r.log_sums(i) = r.largest(i) + std::log(sum);
    }
    return r;
}

/// With `counts`, the emulator's counts are checked, too.
void add(Cases& cases, const char* criterion, const Tensor& z, bool counts = false) {
    const Right r = right(z);
    Tensor without(r.log_sums.shape());
    for (Index i = 0; i < z.dim(0); ++i) without(i) = r.log_sums(i) - r.largest(i);
    const Index n_rows = z.dim(0), n = z.dim(1), real = sizeof(Real);
    const Index bytes = (2 * n_rows * n + n_rows) * real;
    Case c{.criterion = criterion,
           .call = counts ? "counted" : "softmax",
           .arguments = values(z),
           .results = values(r.w, r.log_sums),
           .about = "z " + to_string(z.shape()) + (n_rows * n < 4 ? "" : ", random"),
           .names = {"z", "w", "the row's log of the sum", "the number of bytes read and written",
                     "the number of sectors beyond what 32 neighbors need",
                     "the number of barriers and of requests to shared memory"},
           .mistakes = {{"the maximum is not added back to the logarithm", values(r.w, without)},
                        {"log_sums is the maximum alone", values(r.w, r.largest)}}};
    if (counts) {
        append(c.results, bytes, 0, 0);
        c.mistakes.clear();
        const auto with_bytes = [&](const char* says, Index wrong) {
            c.mistakes.push_back({says, values(r.w, r.log_sums, wrong, 0, 0)});
        };
        with_bytes("the row is read twice, but a lane can keep its numbers",
                   bytes + n_rows * n * real);
        with_bytes("the row is read three times, but a lane can keep its numbers",
                   bytes + 2 * n_rows * n * real);
        with_bytes("every lane writes the row's log of the sum, but one is enough",
                   bytes + 31 * n_rows * real);
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "whole warps", Tensor({1, 2}, {0, std::log(Real(3))}));
    add(cases, "whole warps", cases.normal({8, 32}));
    add(cases, "whole warps", cases.uniform({16, 96}, -5, 5));
    for (const Index n : {1, 31, 33, 100, 1000, 1024})
        add(cases, "rows of every length", cases.normal({cases.between(1, 5), n}));
    add(cases, "rows of every length", cases.normal({cases.between(9, 15), 7}));
    add(cases, "large scores", cases.uniform({5, 40}, 700, 900));
    add(cases, "large scores", cases.uniform({3, 20}, -900, -800));
    add(cases, "one read, one write", cases.normal({8, 64}), true);
    add(cases, "one read, one write", cases.normal({cases.between(9, 15), 100}), true);
}
