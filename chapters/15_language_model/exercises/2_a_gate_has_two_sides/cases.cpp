#include "judge/answer/cases.hpp"

#include "chapters/06_feed_forward/swish.hpp"
#include "lib/matmul.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

struct Inputs {
    Tensor dy, x, w_gate, w_up, w_down;
};

Tensor times(const Tensor& a, const Tensor& b) {
    Tensor y(a.shape());
    for (Index i = 0; i < y.size(); ++i) y.data()[i] = a.data()[i] * b.data()[i];
    return y;
}

/// Row r alone, with zeros elsewhere.
Tensor row_alone(const Tensor& x, Index r) {
    Tensor y = Tensor::zeros(x.shape());
    for (Index j = 0; j < x.dim(1); ++j) y(r, j) = x(r, j);
    return y;
}

enum class Wrong { nothing, exchanged, no_slope, no_swish, last_row };

struct Gradients {
    Tensor y, dx_gate, dx_up, dw_gate, dw_up, dw_down;

    explicit Gradients(const Inputs& in, Wrong wrong = Wrong::nothing) {
        const Tensor g = matmul(in.x, in.w_gate, {.transpose_b = true}), s = swish(g),
                     u = matmul(in.x, in.w_up, {.transpose_b = true}), a = times(s, u);
        y = matmul(a, in.w_down, {.transpose_b = true});
        const Tensor dy = wrong == Wrong::last_row ? row_alone(in.dy, in.dy.dim(0) - 1) : in.dy;
        const Tensor da = matmul(dy, in.w_down);
        const bool exchanged = wrong == Wrong::exchanged;
        const Tensor ds = times(da, exchanged ? s : u);
        const Tensor du = times(da, exchanged ? u : wrong == Wrong::no_swish ? g : s);
        const Tensor dg = wrong == Wrong::no_slope ? ds : swish_backward(ds, g);
        dx_gate = matmul(dg, in.w_gate), dx_up = matmul(du, in.w_up);
        dw_gate = matmul(dg, in.x, {.transpose_a = true});
        dw_up = matmul(du, in.x, {.transpose_a = true});
        dw_down = matmul(dy, wrong == Wrong::no_swish ? times(g, u) : a, {.transpose_a = true});
    }
    Tensor dx() const { return dx_gate + dx_up; }
};

void add(Cases& cases, const Inputs& in) {
    const Gradients right(in), exchanged(in, Wrong::exchanged), no_slope(in, Wrong::no_slope),
        no_swish(in, Wrong::no_swish), last(in, Wrong::last_row);
    const auto forward = [&] { return Gradients(in).y; };
    require_close(right.dx(), differences(forward, in.x, in.dy), "dx");
    require_close(right.dw_gate, differences(forward, in.w_gate, in.dy), "dW_g");
    require_close(right.dw_up, differences(forward, in.w_up, in.dy), "dW_u");
    require_close(right.dw_down, differences(forward, in.w_down, in.dy), "dW_d");
    const auto add_case = [&](const char* criterion, const char* call, const Values& results,
                              std::vector<std::string> names,
                              const std::vector<Mistake>& mistakes) {
        names.insert(names.begin(), {"dy", "x", "W_g", "W_u", "W_d"});
        cases.add({.criterion = criterion,
                   .call = call,
                   .arguments = values(in.dy, in.x, in.w_gate, in.w_up, in.w_down),
                   .results = results,
                   .about = fmt::format("x {}, d_ff {}", in.x.shape(), in.w_up.dim(0)),
                   .names = names,
                   .mistakes = mistakes});
    };
    const std::string
        factors =
            "each factor gets itself as a factor, but the product rule gives it the other one",
        slope = "swish is forgotten on the way back through the gate",
        linear = "the other factor is swish(g), but this has g itself",
        alone = "this is the last row alone, but all rows share the weights, so it is a sum";
    add_case("dx", "dx", values(right.dx()), {"dx"},
             {{"the path through the gate is missing; x is used twice", values(right.dx_up)},
              {"only the path through the gate is there; x is used twice", values(right.dx_gate)},
              {factors, values(exchanged.dx())},
              {slope, values(no_slope.dx())},
              {linear, values(no_swish.dx())}});
    add_case("the two sides", "sides", values(right.dw_gate, right.dw_up), {"dW_g", "dW_u"},
             {{"the two sides are exchanged", values(right.dw_up, right.dw_gate)},
              {factors, values(exchanged.dw_gate, exchanged.dw_up)},
              {slope, values(no_slope.dw_gate, no_slope.dw_up)},
              {linear, values(no_swish.dw_gate, no_swish.dw_up)},
              {alone, values(last.dw_gate, last.dw_up)}});
    add_case("the map down", "down", values(right.dw_down), {"dW_d"},
             {{linear, values(no_swish.dw_down)}, {alone, values(last.dw_down)}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, {Tensor({1, 1}, {1}), Tensor({1, 1}, {2}), Tensor({2, 1}, {0, 1}),
                Tensor({2, 1}, {3, 1}), Tensor({1, 2}, {1, 1})});
    for (const Shape& size : {Shape{4, 3, 5}, Shape{7, 5, 9}, Shape{2, 6, 4}, Shape{3, 4, 4}}) {
        const Index n_rows = size[0], d_model = size[1], d_ff = size[2];
        add(cases, {cases.normal({n_rows, d_model}), cases.normal({n_rows, d_model}),
                    cases.normal({d_ff, d_model}), cases.normal({d_ff, d_model}),
                    cases.normal({d_model, d_ff})});
    }
}
