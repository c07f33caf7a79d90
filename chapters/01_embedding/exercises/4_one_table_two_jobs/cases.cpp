#include "judge/answer/cases.hpp"

#include "chapters/01_embedding/embedding.hpp"
#include "lib/eigen.hpp"
#include "lib/matmul.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

struct Problem {
    Ids ids;
    Tensor dy, dz, x, table;
};

/// The gradient of the look-up alone.
Tensor of_input(const Problem& p) {
    Random random(1);
    Embedding words(p.table.dim(0), p.table.dim(1), {}, random);
    Embedding::Cache cache;
    words.forward(p.ids, &cache);
    words.backward(p.dy, cache);
    words.table.value = p.table.clone();
    require_close(words.table.grad(),
                  differences([&] { return words.forward(p.ids); }, words.table.value, p.dy),
                  "dE of the look-up");
    return words.table.grad();
}

Tensor masked(const Tensor& x, const Ids& ids) {
    Tensor y = Tensor::zeros(x.shape());
    for (const std::int32_t id : ids.values()) matrix(y).row(id) = matrix(x).row(id);
    return y;
}

void add(Cases& cases, const Problem& p) {
    const auto forward = [&] { return matmul(p.x, p.table, {.transpose_b = true}); };
    const Tensor dx = matmul(p.dz, p.table), input = of_input(p);
    const Tensor output = matmul(p.dz, p.x, {.transpose_a = true});
    require_close(dx, differences(forward, p.x, p.dz), "dx");
    require_close(output, differences(forward, p.table, p.dz), "dE of the output map");
    const std::string about =
        fmt::format("ids {}, x {}, table {}", p.ids.shape(), p.x.shape(), p.table.shape());
    cases.add({.criterion = "logits",
               .call = "logits",
               .arguments = values(p.x, p.table),
               .results = values(forward()),
               .about = about,
               .names = {"x", "E", "z"}});
    cases.add({.criterion = "dx",
               .call = "dx",
               .arguments = values(p.dy, p.ids, p.dz, p.x, p.table),
               .results = values(dx),
               .about = about,
               .names = {"dy", "ids", "dz", "x", "E", "dx"}});
    const auto add_dtable = [&](const char* criterion, const Tensor& before) {
        cases.add(
            {.criterion = criterion,
             .call = "dtable",
             .arguments = values(p.dy, p.ids, p.dz, p.x, p.table, before),
             .results = values(before + input + output),
             .about = about,
             .names = {"dy", "ids", "dz", "x", "E", "what dE held", "dE"},
             .mistakes = {{"this is the gradient of the look-up alone", values(before + input)},
                          {"this is the gradient of the output map alone", values(before + output)},
                          {"the gradient of the look-up is lost, but both jobs add to one gradient",
                           values(output)},
                          {"what dE held before is lost", values(input + output)},
                          {"rows that no id reads get no gradient, but each row is an output, too",
                           values(before + input + masked(output, p.ids))}}});
    };
    add_dtable("dE", Tensor::zeros(p.table.shape()));
    add_dtable("dE adds", cases.normal(p.table.shape()));
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, {Ids({1, 2}, {2, 2}), Tensor({1, 2, 2}, {1, 2, 3, 4}), Tensor({1, 3}, {1, 0, -1}),
                Tensor({1, 2}, {5, 1}), Tensor({3, 2}, {1, 0, 2, 1, 0, 3})});
    const auto draw = [&](Index B, Index L, Index R, Index V, Index d) {
        Ids ids = cases.ids({B, L}, V - 1);  // the last word is never read
        ids.data()[0] = ids.data()[ids.size() - 1];
        add(cases, {ids, cases.normal({B, L, d}), cases.normal({R, V}), cases.normal({R, d}),
                    cases.normal({V, d})});
    };
    draw(2, cases.between(2, 5), 6, 5, 3);
    draw(1, 4, 1, 9, 7);
    draw(3, 2, cases.between(2, 5), 4, 4);
    draw(2, 3, 4, 6, 1);
}
