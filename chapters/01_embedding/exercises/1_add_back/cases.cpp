#include "judge/answer/cases.hpp"

#include "chapters/01_embedding/embedding.hpp"
#include "lib/eigen.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

struct Problem {
    const char* criterion;
    Ids ids;
    Tensor dy, before;
    bool scale;
    std::int32_t padding = -1;
};

Tensor gradient(const Problem& p, bool scale, std::int32_t padding) {
    Random random(1);
    Embedding words(p.before.dim(0), p.before.dim(1), {.scale = scale, .padding_id = padding},
                    random);
    Embedding::Cache cache;
    words.forward(p.ids, &cache);
    words.table.grad() += p.before;
    words.backward(p.dy, cache);
    if (padding < 0) {
        Tensor slope = differences([&] { return words.forward(p.ids); }, words.table.value, p.dy);
        slope += p.before;
        require_close(words.table.grad(), slope, "embedding_backward");
    }
    return words.table.grad();
}

void add(Cases& cases, const Problem& p) {
    const Index d_model = p.before.dim(1);
    const Tensor right = gradient(p, p.scale, p.padding);
    Tensor last = p.before.clone(), fresh = right.clone();
    const Real factor = p.scale ? std::sqrt(static_cast<Real>(d_model)) : 1;
    for (Index r = 0; r < p.ids.size(); ++r)
        if (p.ids.data()[r] != p.padding)
            matrix(last).row(p.ids.data()[r]) = factor * matrix(p.dy).row(r);
    vector(fresh) -= vector(p.before);
    cases.add({.criterion = p.criterion,
               .call = "embedding_backward",
               .arguments = values(p.dy, p.ids, p.before, Index{p.scale}, Index{p.padding}),
               .results = values(right),
               .about = fmt::format(
                   "ids {}, table {}, factor {:.4g}, {}", p.ids.shape(), p.before.shape(),
                   static_cast<double>(factor),
                   p.padding < 0 ? "no padding row" : fmt::format("padding row {}", p.padding)),
               .names = {"dy", "ids", "what dE held", "scale", "padding_id", "dE"},
               .constants = {{"sqrt(d_model)", std::sqrt(static_cast<double>(d_model))}},
               .mistakes = {
                   {"only the last place of each word counts: = instead of +=", values(last)},
                   {"what dE held before is lost", values(fresh)},
                   {"the factor sqrt(d_model) is missing", values(gradient(p, false, p.padding))},
                   {"there is a factor sqrt(d_model) although the option scale is off",
                    values(gradient(p, true, p.padding))},
                   {"the padding row gets a gradient", values(gradient(p, p.scale, -1))}}});
}

/// Random ids. The first and the last are equal, and the second is 0.
Ids repeated(Cases& cases, const Shape& shape, Index n) {
    Ids ids = cases.ids(shape, n);
    ids.data()[0] = ids.data()[ids.size() - 1];
    ids.data()[1] = 0;
    return ids;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    Tensor by_hand({2, 4, 3});
    for (Index i = 0; i < by_hand.size(); ++i) by_hand.data()[i] = static_cast<Real>(i / 3 + 1);
    const char* words = "repeated words";
    add(cases,
        {words, Ids({2, 4}, {1, 2, 4, 5, 4, 3, 2, 9}), by_hand, Tensor::zeros({10, 3}), false});
    const Index L = cases.between(4, 9);
    const auto zeros = [](Index n, Index d) { return Tensor::zeros({n, d}); };
    add(cases, {words, repeated(cases, {1, L}, 3), cases.normal({1, L, 5}), zeros(3, 5), false});
    add(cases, {words, repeated(cases, {3, L}, 7), cases.normal({3, L, 1}), zeros(7, 1), false});
    const char* adds = "added to what is there";
    add(cases,
        {adds, repeated(cases, {2, L}, 8), cases.normal({2, L, 3}), cases.normal({8, 3}), false});
    const char* factor = "with the factor";
    for (const Index d : {4, 7})
        add(cases,
            {factor, repeated(cases, {2, L}, 5), cases.normal({2, L, d}), zeros(5, d), true});
    const char* padding = "a padding row";
    for (const std::int32_t row : {0, 3}) {
        Ids ids = repeated(cases, {2, L}, 4);
        ids(0, 1) = row;
        add(cases, {padding, ids, cases.normal({2, L, 3}), zeros(4, 3), false, row});
    }
}
