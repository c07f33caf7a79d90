#include "judge/cases.hpp"

#include <cmath>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Tensor times(const Tensor& a, const Tensor& b) {
    Tensor product(a.shape());
    for (std::size_t i = 0; i < a.values().size(); ++i)
        product.values()[i] = a.values()[i] * b.values()[i];
    return product;
}

void add(Cases& cases, const char* criterion, const Tensor& z, const Tensor& dw,
         const std::string& about = {}) {
    const Tensor w = softmax(z), dz = softmax_backward(dw, w);
    require_close(dz, differences([&] { return softmax(z); }, z, dw), "softmax_backward");
    const Tensor diagonal = times(w, dw);
    Tensor no_factor(w.shape()), columns(w.shape()), plain_mean(w.shape());
    const Index n = w.dim(-1);
    for (Index i = 0; i < w.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(i);
        Real sum = 0;
        for (Index j = i / n * n; j < i / n * n + n; ++j)
            sum += diagonal.values()[static_cast<std::size_t>(j)];
        no_factor.values()[at] = dw.values()[at] - sum;
        Real column = 0, total = 0;
        for (Index j = i % n; j < w.size(); j += n)
            column += diagonal.values()[static_cast<std::size_t>(j)];
        for (Index j = i / n * n; j < i / n * n + n; ++j)
            total += dw.values()[static_cast<std::size_t>(j)];
        columns.values()[at] = w.values()[at] * (dw.values()[at] - column);
        plain_mean.values()[at] = w.values()[at] * (dw.values()[at] - total);
    }
    cases.add({.criterion = criterion,
               .call = "softmax_backward",
               .arguments = values(dw, w),
               .results = values(dz),
               .about = about.empty() ? "w " + to_string(w.shape()) + ", dw drawn" : about,
               .names = {"dw", "w", "dz"},
               .mistakes = {{"w dw is the diagonal alone: each score moves all weights of its row",
                             values(diagonal)},
                            {"the factor w is missing", values(no_factor)},
                            {"the sum runs over the rows; it belongs to one row, over its columns",
                             values(columns)},
                            {"the sum is that of dw, not of dw times w", values(plain_mean)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "rows of two", Tensor({1, 2}, {0, std::log(Real(2))}), Tensor({1, 2}, {3, 0}),
        "that of the statement, w = (1/3, 2/3), dw = (3, 0)");
    add(cases, "rows of two", cases.normal({3, 2}), cases.normal({3, 2}));
    for (const Index n : {1, 3, 5, 17})
        add(cases, "rows of every length", cases.normal({3, n}), cases.normal({3, n}));
    add(cases, "batches and heads", cases.normal({2, 3, 4, 5}), cases.normal({2, 3, 4, 5}));
    add(cases, "batches and heads", cases.uniform({2, 1, 7}, -20, 20), cases.normal({2, 1, 7}));
}
