#include "judge/answer/cases.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

struct Step {
    Tensor dx, w, v;
};

/// The same step, computed one number at a time.
Step right(const Tensor& w, const Tensor& v, const Tensor& x, const Tensor& dy, Real momentum,
           Real rate) {
    Step s{Tensor::zeros(x.shape()), Tensor(w.shape()), Tensor(w.shape())};
    for (Index o = 0; o < w.dim(0); ++o)
        for (Index i = 0; i < w.dim(1); ++i) {
            Real dw = 0;
            for (Index r = 0; r < x.dim(0); ++r) {
                s.dx(r, i) += dy(r, o) * w(o, i);
                dw += dy(r, o) * x(r, i);
            }
            s.v(o, i) = momentum * v(o, i) + dw;
            s.w(o, i) = w(o, i) - rate * s.v(o, i);
        }
    return s;
}

void add(Cases& cases, bool update, Index n_rows, Index d_in, Index d_out) {
    const Tensor w = cases.normal({d_out, d_in}), v = cases.normal({d_out, d_in}),
                 x = cases.normal({n_rows, d_in}), dy = cases.normal({n_rows, d_out});
    const double momentum = 0.1 * static_cast<double>(cases.between(3, 9)),
                 rate = 0.01 * static_cast<double>(cases.between(5, 50));
    const Real m = static_cast<Real>(momentum), eta = static_cast<Real>(rate);
    const Step s = right(w, v, x, dy, m, eta);
    const Tensor late = right(s.w, v, x, dy, m, eta).dx;
    Case c{.criterion = update ? "the update" : "dx",
           .call = update ? "update" : "dx",
           .arguments = values(w, v, x, dy, momentum, rate),
           .results = update ? values(s.w, s.v) : values(s.dx),
           .about = "x " + to_string(x.shape()) + ", dy " + to_string(dy.shape()) + ", drawn",
           .names = {"w", "v", "x", "dy", "momentum", "rate"},
           .constants = {{"momentum", momentum}, {"the learning rate", rate}}};
    if (update) {
        c.names.insert(c.names.end(), {"w", "v"});
        const Step cold = right(w, Tensor::zeros(v.shape()), x, dy, m, eta);
        const Step up = right(w, v, x, dy, m, -eta);
        Tensor old(w.shape());
        for (Index o = 0; o < d_out; ++o)
            for (Index i = 0; i < d_in; ++i) old(o, i) = w(o, i) - eta * v(o, i);
        c.mistakes = {{"v is the gradient alone: the momentum is missing", values(cold.w, cold.v)},
                      {"w moves along the gradient, not against it", values(up.w, s.v)},
                      {"w uses the running gradient of the previous step", values(old, s.v)}};
    } else {
        c.names.push_back("dx");
        c.mistakes = {{"dx uses the weights after their update", values(late)}};
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const bool update : {false, true}) {
        add(cases, update, 1, 1, 1);
        add(cases, update, cases.between(2, 5), 7, 4);
        add(cases, update, 1, cases.between(2, 9), cases.between(10, 20));
        add(cases, update, cases.between(6, 9), 33, 5);
    }
    constexpr Index n_rows = 2, d_in = 1024, d_out = 4096;
    const Tensor x = cases.normal({n_rows, d_in}), dy = cases.normal({n_rows, d_out});
    const Step s = right(normal({d_out, d_in}, Random(1).stream()),
                         normal({d_out, d_in}, Random(2).stream()), x, dy, Real(0.5), Real(1e-3));
    cases.add({.criterion = "fewer readings",
               .call = "large_step",
               .arguments = values(x, dy),
               .results = values(s.dx, s.w.rows(d_out - 1, d_out).clone(),
                                 s.v.rows(d_out - 1, d_out).clone()),
               .about = "weights of 4096 x 1024, x [2, 1024]",
               .names = {"x", "dy", "dx", "the last row of w", "the last row of v"}});
}
