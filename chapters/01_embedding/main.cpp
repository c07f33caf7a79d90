#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "chapters/01_embedding/embedding.hpp"
#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/matmul.hpp"
#include "lib/program/program.hpp"

using namespace abh;

namespace {
// [words]
const std::vector<std::string> vocabulary = {"P",  "我", "有", "一", "个", "好",
                                             "朋", "友", "零", "女", "男"};
constexpr Index d_model = 512;

/// Prints each id beside its vector.
void print_vectors(const Ids& ids, const Tensor& y) {
    for (Index i = 0; i < ids.size(); ++i) {
        fmt::print("{:2d} ", ids.data()[i]);
        for (Real v : matrix(y).row(i)) fmt::print(" {:7.4f}", v);
        fmt::print("\n");
    }
}

void set_row(Embedding& embedding, Index id, std::initializer_list<Real> values) {
    std::copy(values.begin(), values.end(), &embedding.table.value(id, 0));
}
// [ten rows of three]
/// The table of ten rows from the demo of the architecture article. The article prints six of them;
/// the others are random here.
Embedding article_table(Random& random) {
    Embedding embedding(10, 3, {}, random);
    set_row(embedding, 1, {-0.0251f, -1.6902f, 0.7172f});
    set_row(embedding, 2, {-0.6431f, 0.0748f, 0.6969f});
    set_row(embedding, 3, {0.4362f, -0.4004f, 0.9400f});
    set_row(embedding, 4, {1.4970f, 1.3448f, -0.9685f});
    set_row(embedding, 5, {-0.3677f, -2.7265f, -0.1685f});
    set_row(embedding, 9, {0.9124f, -2.3616f, 1.1151f});
    return embedding;
}

void show_ten_rows(Random& random, Results& results) {
    section("Ten rows of three");
    Embedding embedding = article_table(random);
    const Ids ids({2, 4}, {1, 2, 4, 5, 4, 3, 2, 9});
    Embedding::Cache cache;
    const Tensor y = embedding.forward(ids, &cache);  // [2, 4, 3]
    print_vectors(ids, y);

    section("One row, many additions");
    Tensor dy(y.shape());  // row i is (i+1, i+1, i+1)
    for (Index i = 0; i < ids.size(); ++i) matrix(dy).row(i).setConstant(static_cast<Real>(i + 1));
    embedding.backward(dy, cache);
    fmt::print("ids      {}\ndy       1 2 3 4 5 6 7 8\n\nid  dtable\n",
               fmt::join(ids.values(), " "));
    for (Index j = 0; j < 10; ++j) fmt::print("{:2d}  {:6g}\n", j, embedding.table.grad()(j, 0));
    results.array("ids", ids);
    results.array("table", embedding.table.value);
    results.array("vectors", y);
    results.array("dy", dy);
    results.array("dtable", embedding.table.grad());

    section("The gradient by differences");
    // The loss is linear in the table, so a wide step is exact up to rounding.
    const GradientError error = check_gradient([&] { return embedding.forward(ids); },
                                               embedding.table.value, embedding.table.grad(), dy,
                                               /*step=*/0.5);
    fmt::print("{} entries of the table, worst: {}\n", error.checked, to_string(error));
    results.set_varying("gradient_error", error.relative);
}
// [padding]
void show_padding(Random& random) {
    section("A padding row");
    Embedding embedding(10, 3, {.scale = false, .padding_id = 0}, random);
    set_row(embedding, 2, {0.1535f, -2.0309f, 0.9315f});
    set_row(embedding, 5, {-0.1655f, 0.9897f, 0.0635f});
    const Ids ids({1, 4}, {0, 2, 0, 5});
    Embedding::Cache cache;
    print_vectors(ids, embedding.forward(ids, &cache));
    embedding.backward(Tensor::full({1, 4, 3}, 1), cache);
    fmt::print("\ngradient of rows 0, 2 and 5 when dy is all ones:");
    for (Index j : {0, 2, 5}) fmt::print("  {:g}", embedding.table.grad()(j, 0));
    fmt::print("\n");
}
// [sentence]
void show_sentence(Random& random) {
    section("A sentence becomes vectors");
    const Ids ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});
    const Embedding embedding(static_cast<Index>(vocabulary.size()), 8, {}, random);
    const Tensor y = embedding.forward(ids);  // [1, 8, 8]
    for (Index i = 0; i < ids.size(); ++i)
        fmt::print("{:<3} {:2d}  {:6.2f}\n", vocabulary[static_cast<std::size_t>(ids.data()[i])],
                   ids.data()[i], fmt::join(matrix(y).row(i), " "));
}
// [statistics]
double deviation(const Tensor& x) {
    const auto values = vector(x).cast<double>().array().eval();
    return std::sqrt((values - values.mean()).square().mean());
}

/// An embedding whose entries start out normal, with standard deviation `start`.
Embedding started(Index n_words, double start, Random& random) {
    Embedding embedding(n_words, d_model, {}, random);
    embedding.table.value *= static_cast<Real>(start);
    return embedding;
}
// [scaled]
void show_scaled(Random& random) {
    section("Times sqrt(d_model)");
    const Embedding embedding(1000, d_model, {.scale = true}, random);
    const Tensor y = embedding.forward(Ids({2, 4}, {100, 2, 421, 508, 491, 998, 1, 221}));
    fmt::print("standard deviation {:.3f} in the table, {:.3f} in the vectors\n",
               deviation(embedding.table.value), deviation(y));
}
// [output map]
void show_output_map(Random& random, Results& results) {
    section("The same table as output map");
    const Tensor h = normal({200, d_model}, random.stream());  // rows like a layer norm's
    fmt::print("stddev of entries  of logits  loss before training  ln 1000\n");
    for (const auto& [name, start] :
         {std::pair{"narrow", 1 / std::sqrt(static_cast<double>(d_model))},
          std::pair{"wide", 1.0}}) {
        const Embedding embedding = started(1000, start, random);
        const Tensor logits =
            matmul(h, embedding.table.value, {.transpose_b = true});  // [200, 1000]
        double loss = 0;  // mean of -log softmax(logits)[target]; the target of row r is word r
        for (Index r = 0; r < 200; ++r) {
            const auto row = matrix(logits).row(r).cast<double>().eval();
            const double largest = row.maxCoeff();
            loss += (largest + std::log((row.array() - largest).exp().sum()) - row(r)) / 200;
        }
        fmt::print("{:17.4f}  {:9.3f}  {:20.2f}  {:7.2f}\n", start, deviation(logits), loss,
                   std::log(1000.0));
        results.set(fmt::format("loss_{}", name), loss);
    }
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Program program("Look up a vector for each word, and send gradients back to the table");
    return program.run(argc, argv, [&] {
        Random random(program.seed());
        show_ten_rows(random, program.results());
        show_padding(random);
        show_sentence(random);
        show_scaled(random);
        show_output_map(random, program.results());
    });
}
