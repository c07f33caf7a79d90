#include "judge/answer/cases.hpp"

#include "chapters/15_language_model/rotary.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

struct Turn {
    Index n_heads = 1;
    RotaryOptions options;
    Index first = 0;
    Ids begins = Ids({0});

    Packing packing() const {
        if (begins.size() == 0) return {};
        return {begins, begins(begins.size() - 1)};
    }
    Tensor forward(const Tensor& x) const { return rotate(x, n_heads, options, first, packing()); }
    Tensor backward(const Tensor& dy) const {
        return rotate_backward(dy, n_heads, options, first, packing());
    }
    Turn with(auto change) const {
        Turn other = *this;
        change(other);
        return other;
    }
};

/// A pair's second number is made from the new first number. The sines come from turning rows whose
/// pairs are all (1, 0).
Tensor overwritten(const Turn& turn, const Tensor& dy) {
    const bool halves = turn.options.pairing == Pairing::halves;
    const Index d = dy.dim(2) / turn.n_heads;
    Tensor one = Tensor::zeros(dy.shape());
    const auto first_of = [&](Index i) { return i / (d / 2) * d + i % (d / 2) * (halves ? 1 : 2); };
    const Index step = halves ? d / 2 : 1;
    const auto each = [&](auto f) {
        for (Index b = 0; b < dy.dim(0); ++b)
            for (Index t = 0; t < dy.dim(1); ++t)
                for (Index i = 0; i < dy.dim(2) / 2; ++i) f(b, t, first_of(i));
    };
    each([&](Index b, Index t, Index p) { one(b, t, p) = 1; });
    const Tensor turned = turn.backward(one);  // to (cos, -sin)
    Tensor dx = turn.backward(dy).clone();
    each([&](Index b, Index t, Index p) {
        dx(b, t, p + step) += turned(b, t, p + step) * (dx(b, t, p) - dy(b, t, p));
    });
    return dx;
}

void add(Cases& cases, const char* criterion, const Tensor& dy, const Turn& turn) {
    const Tensor right = turn.backward(dy), at = cases.normal(dy.shape());
    require_close(right, differences([&] { return turn.forward(at); }, at, dy), "turning back");
    const bool halves = turn.options.pairing == Pairing::halves;
    const auto of = [&](auto change) { return values(turn.with(change).backward(dy)); };
    std::vector<Mistake> mistakes{
        {"this turns on as the forward pass does; which matrix is the transpose of a rotation?",
         values(turn.forward(dy))},
        {halves ? "columns 2i and 2i + 1 are turned together, but here i and i + d/2 are a pair"
                : "columns i and i + d/2 are turned together, but here 2i and 2i + 1 are a pair",
         of([&](Turn& t) { t.options.pairing = halves ? Pairing::neighbors : Pairing::halves; })},
        {"pairs are counted through all heads, but each head begins anew with pair 0",
         of([](Turn& t) { t.n_heads = 1; })},
        {"positions are counted from 0, not from first", of([](Turn& t) { t.first = 0; })},
        {"the base is 10000, whatever the options say",
         of([](Turn& t) { t.options.base = 10000; })},
        {"positions are counted on through the packed sentences, but each begins at first",
         of([](Turn& t) { t.begins = Ids({0}); })},
        {"a pair's second number is made from the new first number, not from the old",
         values(overwritten(turn, dy))}};
    cases.add(
        {.criterion = criterion,
         .call = "rotate_backward",
         .arguments = values(dy, turn.n_heads, turn.options.base, halves, turn.first, turn.begins),
         .results = values(right),
         .about = fmt::format("dy {}, {} heads, {}, first {}{}", dy.shape(), turn.n_heads,
                              halves ? "halves" : "neighbors", turn.first,
                              turn.begins.size() > 0 ? ", packed" : ""),
         .names = {"dy", "n_heads", "base", "halves", "first", "the packing", "dx"},
         .mistakes = mistakes});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Index L = cases.between(2, 7), first = cases.between(2, 40);
    const RotaryOptions neighbors{100, Pairing::neighbors}, halves{50, Pairing::halves};
    add(cases, "neighbors", Tensor({1, 2, 2}, {1, 0, 1, 0}), {1, neighbors});
    add(cases, "neighbors", cases.normal({2, L, 6}), {1, neighbors});
    add(cases, "halves", cases.normal({1, L, 8}), {1, halves});
    add(cases, "halves", cases.normal({3, 3, 6}), {1, {}});
    for (const RotaryOptions& options : {neighbors, halves}) {
        add(cases, "several heads", cases.normal({2, L, 12}), {3, options});
        add(cases, "where sentences begin", cases.normal({2, 3, 8}), {1, options, first});
        add(cases, "where sentences begin", cases.normal({1, 7, 8}),
            {2, options, first, Ids({4}, {0, 3, 4, 7})});
    }
}
