#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "chapters/01_embedding/next_words.hpp"
#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/matmul.hpp"
#include "lib/program/program.hpp"

using namespace abh;

namespace {
// [words]
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
// [rows by hand]
const std::vector<std::string> vocabulary = {"P", "我", "有", "一", "个", "好", "朋", "友"};

/// A row for each word. The columns are who, does, what, unfinished.
Embedding filled_by_hand(Random& random) {
    Embedding embedding(8, 4, {}, random);
    embedding.table.value.fill(0);
    set_row(embedding, 1, {1, 0, 0, 0});
    set_row(embedding, 2, {0, 1, 0, 0});
    set_row(embedding, 6, {0, 0, 1, 1});
    set_row(embedding, 7, {0, 0, 1, 0});
    return embedding;
}

void show_rows(Random& random, Results& results) {
    section("Friends have friends");
    Embedding embedding = filled_by_hand(random);
    const Ids ids({1, 5}, {6, 7, 2, 6, 7});
    Embedding::Cache cache;
    const Tensor y = embedding.forward(ids, &cache);  // [1, 5, 4]
    fmt::print("   id  row read   dy\n");
    Tensor dy(y.shape());  // row i is (i+1, i+1, ...)
    for (Index i = 0; i < ids.size(); ++i) {
        matrix(dy).row(i).setConstant(static_cast<Real>(i + 1));
        fmt::print("{} {:2d}  {}    {} each\n", vocabulary[static_cast<std::size_t>(ids.data()[i])],
                   ids.data()[i], fmt::join(matrix(y).row(i), " "), i + 1);
    }

    section("One row, many additions");
    embedding.backward(dy, cache);
    const Tensor& dtable = embedding.table.grad();
    for (Index j = 0; j < embedding.n_words(); ++j)
        fmt::print("{:<2} {:2d}  {}\n", vocabulary[static_cast<std::size_t>(j)], j,
                   fmt::join(matrix(dtable).row(j), " "));
    results.array("ids", ids);
    results.array("table", embedding.table.value);
    results.array("vectors", y);
    results.array("dy", dy);
    results.array("dtable", dtable);

    section("The gradient by differences");
    // The loss is linear in the table, so a wide step is exact up to rounding.
    const GradientError error =
        check_gradient([&] { return embedding.forward(ids); }, embedding.table.value, dtable, dy,
                       /*step=*/0.5);
    fmt::print("{} entries of the table, worst: {}\n", error.checked, to_string(error));
    results.set_varying("gradient_error", error.relative);
}
// [next words: main]
void show_next_words(Results& results) {
    section("A table of next words");
    NextWords model{Random(13)};
    results.array("rows_before", model.words.table.value.clone());
    for (int step = 1; step <= 1000; ++step) {
        const Real loss = model.step(1);
        if (step == 1 || step == 10 || step == 100 || step == 1000)
            fmt::print("step {:4d}: loss {:.3f}\n", step, loss);
    }
    fmt::print("\n");
    for (std::int32_t id : {0, 1, 2, 3, 8, 7, 6, 4}) {
        fmt::print("after {:<7}", english[static_cast<std::size_t>(id)]);
        const Tensor p = model.probabilities(id);
        for (std::size_t j = 0; j < english.size(); ++j)
            if (p.values()[j] > Real(0.05)) fmt::print("  {:.2f} {}", p.values()[j], english[j]);
        fmt::print("\n");
    }
    fmt::print("\n{}\n", model.says());
    results.array("rows_after", model.words.table.value);
}

/// The smallest and the largest of some numbers.
struct Range {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    void add(double x) {
        least = std::min(least, x);
        most = std::max(most, x);
    }
};

double cosine(const Tensor& table, Index i, Index j) {
    const auto a = matrix(table).row(i), b = matrix(table).row(j);
    return a.dot(b) / (a.norm() * b.norm());
}

void show_starts(Results& results) {
    section("From twenty random starts");
    std::map<std::string, int> said;
    Range loss, after_a, after_have, alike, others, unread;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        NextWords model{Random(seed)};
        const Tensor& rows = model.words.table.value;
        const Tensor start = rows.clone();
        Real last = 0;
        for (int step = 1; step <= 1000; ++step) last = model.step(1);
        loss.add(last);
        for (Index next : {3, 8}) after_a.add(model.probabilities(2)(0, 0, next));
        after_have.add(model.probabilities(1)(0, 0, 2));
        for (auto [i, j] : {std::pair{3, 7}, {3, 8}, {7, 8}}) alike.add(cosine(rows, i, j));
        for (Index i : {3, 7, 8})
            for (Index j : {0, 1, 2, 4, 6}) others.add(cosine(rows, i, j));
        unread.add((matrix(rows).row(5) - matrix(start).row(5)).norm());
        ++said[model.says()];
    }
    fmt::print("{:<40}   least   most\n", "");
    const auto row = [&](const char* what, const std::string& name, const Range& range) {
        fmt::print("{:<40} {:7.3f} {:6.3f}\n", what, range.least, range.most);
        results.set_varying(name + "_least", range.least);
        results.set_varying(name + "_most", range.most);
    };
    row("loss of the last step", "starts_loss", loss);
    row("probability of good, of boy, after a", "starts_after_a", after_a);
    row("probability of a after have", "starts_after_have", after_have);
    row("cosines of good, girl and boy", "starts_alike", alike);
    row("cosines of these three and other words", "starts_others", others);
    row("how far the row of . has moved", "starts_unread", unread);
    for (const auto& [sentence, times] : said) fmt::print("{:2d} times {}\n", times, sentence);
    results.set_varying("starts_say_good", said["I have a good friend ."]);
    results.set_varying("starts_say_boy", said["I have a boy friend ."]);
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
        show_rows(random, program.results());
        show_next_words(program.results());
        show_starts(program.results());
        show_padding(random);
        show_output_map(random, program.results());
    });
}
