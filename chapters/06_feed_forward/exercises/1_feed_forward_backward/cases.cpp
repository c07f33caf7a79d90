#include "judge/answer/cases.hpp"

#include <string>
#include <vector>

#include "chapters/06_feed_forward/feed_forward.hpp"
#include "lib/matmul.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// dx, dW_1 and db_1 from da.
struct FirstMap {
    FirstMap(const Tensor& da, const Tensor& x, const Tensor& w_1)
        : dx(matmul(da, w_1)),
          dw(matmul(da, x, {.transpose_a = true})),
          db(Tensor::zeros({da.dim(1)})) {
        add_column_sums(db, da);
    }
    Tensor dx, dw, db;
};

/// Row r alone, with zeros elsewhere.
Tensor row_alone(const Tensor& x, Index r) {
    Tensor y = Tensor::zeros(x.shape());
    for (Index j = 0; j < x.dim(1); ++j) y(r, j) = x(r, j);
    return y;
}

template <class Keeps>
Tensor where(const Tensor& x, Keeps keeps) {
    Tensor y = x.clone();
    for (Index i = 0; i < y.size(); ++i)
        if (!keeps(i)) y.data()[i] = 0;
    return y;
}

void add(Cases& cases, const Tensor& x, const Tensor& dy, FeedForward& ff) {
    FeedForward::Cache cache;
    ff.forward(x, &cache);
    const Tensor &a_plus = cache.hidden, &w_1 = ff.first.weight.value,
                 &w_2 = ff.second.weight.value;
    const Tensor da_plus = matmul(dy, w_2);
    const Tensor da = where(da_plus, [&](Index i) { return a_plus.data()[i] > 0; });
    const FirstMap right(da, x, w_1), no_relu(da_plus, x, w_1),
        by_gradient(where(da_plus, [&](Index i) { return da_plus.data()[i] > 0; }), x, w_1),
        last(row_alone(da, x.dim(0) - 1), x, w_1);
    const Tensor dw_2 = matmul(dy, a_plus, {.transpose_a = true});
    Tensor db_2 = Tensor::zeros({dy.dim(1)}), last_db_2 = Tensor::zeros({dy.dim(1)});
    add_column_sums(db_2, dy);
    add_column_sums(last_db_2, row_alone(dy, x.dim(0) - 1));

    const auto forward = [&] { return ff.forward(x); };
    require_close(right.dx, differences(forward, x, dy), "dx");
    require_close(right.dw, differences(forward, w_1, dy), "dW_1");
    require_close(right.db, differences(forward, ff.first.bias.value, dy), "db_1");
    require_close(dw_2, differences(forward, w_2, dy), "dW_2");
    require_close(db_2, differences(forward, ff.second.bias.value, dy), "db_2");

    const auto add_case = [&](const char* criterion, const char* call, const Values& results,
                              std::vector<std::string> names,
                              const std::vector<Mistake>& mistakes) {
        names.insert(names.begin(), {"dy", "x", "a_plus", "W_1", "W_2"});
        cases.add({.criterion = criterion,
                   .call = call,
                   .arguments = values(dy, x, a_plus, w_1, w_2),
                   .results = results,
                   .about = fmt::format("x {}, d_ff {}", x.shape(), a_plus.dim(1)),
                   .names = names,
                   .mistakes = mistakes});
    };
    const std::string
        forgotten = "ReLU is forgotten on the way back",
        sign =
            "ReLU goes by the sign of the gradient, but it should go by what was "
            "positive in the forward pass",
        alone = "this is the last row alone, but all rows share weights and biases, so it is a sum";
    add_case("dx", "dx", values(right.dx), {"dx"},
             {{forgotten, values(no_relu.dx)}, {sign, values(by_gradient.dx)}});
    add_case("the first map", "first", values(right.dw, right.db), {"dW_1", "db_1"},
             {{forgotten, values(no_relu.dw, no_relu.db)},
              {sign, values(by_gradient.dw, by_gradient.db)},
              {alone, values(last.dw, last.db)}});
    add_case("the second map", "second", values(dw_2, db_2), {"dW_2", "db_2"},
             {{alone, values(matmul(row_alone(dy, x.dim(0) - 1), a_plus, {.transpose_a = true}),
                             last_db_2)}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    Random random(static_cast<std::uint64_t>(cases.between(1, 1000000)));
    FeedForward by_hand(2, 3, true, random);
    by_hand.first.weight.value = Tensor({3, 2}, {1, 0, 1, -1, -1, 1});
    by_hand.first.bias.value = Tensor({3}, {0, 1, 0});
    by_hand.second.weight.value = Tensor({2, 3}, {1, 1, 2, 1, -1, 1});
    by_hand.second.bias.value = Tensor({2}, {0, 1});
    add(cases, Tensor({1, 2}, {2, 1}), Tensor({1, 2}, {3, 1}), by_hand);
    for (const Shape& size : {Shape{4, 3, 5}, Shape{7, 5, 9}, Shape{2, 6, 4}, Shape{3, 4, 4}}) {
        const Index n_rows = size[0], d_model = size[1], d_ff = size[2];
        FeedForward ff(d_model, d_ff, true, random);
        add(cases, cases.normal({n_rows, d_model}), cases.normal({n_rows, d_model}), ff);
    }
}
