#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "chapters/01_embedding/embedding.hpp"
#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/linear.hpp"
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

/// A row for each word of the vocabulary. The columns are who, does, how many, what.
Embedding filled_by_hand(Random& random) {
    Embedding embedding(8, 4, {}, random);
    embedding.table.value.fill(0);
    set_row(embedding, 1, {1, 0, 0, 0});
    set_row(embedding, 2, {0, 1, 0, 0});
    set_row(embedding, 3, {0, 0, 1, 0});
    set_row(embedding, 4, {0, 0, 1, 0});
    set_row(embedding, 6, {0, 0, 0, 1});
    set_row(embedding, 7, {0, 0, 0, 1});
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
// [next words]
const std::vector<std::string> english = {"I", "have", "a",    "good", "friend",
                                          ".", "zero", "girl", "boy"};
/// The toy's three English sentences: the word read at each place, and the word that follows.
const Ids before({1, 15}, {0, 1, 2, 3, 4, /**/ 0, 1, 6, 7, 4, /**/ 0, 1, 2, 8, 4});
const Ids after({1, 15}, {1, 2, 3, 4, 5, /**/ 1, 6, 7, 4, 5, /**/ 1, 2, 8, 4, 5});

/// Says which word comes next, knowing the word before and nothing else.
struct NextWord {
    Embedding words;  ///< [9, 2]
    Linear scores;    ///< from 2 numbers to a score for each of the 9 words

    explicit NextWord(std::uint64_t seed) : NextWord(Random(seed)) {}
    explicit NextWord(Random random) : words(9, 2, {}, random), scores(2, 9, false, random) {}

    /// A step of gradient descent. @return the mean loss before it
    Real step(Real eta);
    /// The probability of each word after the word `id`.
    std::vector<Real> probabilities(std::int32_t id) const;
    /// The sentence that begins with *I* and goes on with the likeliest word each time.
    std::string says() const;
};

Real NextWord::step(Real eta) {
    Embedding::Cache read;
    Linear::Cache seen;
    Real loss = 0;
    // [next words: step]
    Tensor z = scores.forward(words.forward(before, &read), &seen);  // [1, 15, 9]
    for (Index r = 0; std::int32_t next : after.values()) {
        auto p = matrix(z).row(r++);  // the scores of one place
        p = p.array().exp();
        p /= p.sum();  // softmax: they have become probabilities
        loss -= std::log(p(next)) / 15;
        p(next) -= 1;  // minus one-hot: they have become the gradient
    }
    z *= Real(1) / 15;  // of the mean loss
    words.backward(scores.backward(z, seen), read);
    for (Parameter* w : {&words.table, &scores.weight})  // W -= eta dW
        vector(w->value) -= eta * vector(w->grad());
    // [next words: use]
    for (Parameter* w : {&words.table, &scores.weight}) w->zero_grad();
    return loss;
}

std::vector<Real> NextWord::probabilities(std::int32_t id) const {
    Tensor z = scores.forward(words.forward(Ids({1, 1}, {id})));
    vector(z) = vector(z).array().exp();
    vector(z) /= vector(z).sum();
    return {z.values().begin(), z.values().end()};
}

std::string NextWord::says() const {
    std::string sentence = english[0];
    for (std::int32_t id = 0, length = 1; id != 5 && length < 10; ++length) {
        const std::vector<Real> p = probabilities(id);
        id = static_cast<std::int32_t>(std::max_element(p.begin(), p.end()) - p.begin());
        sentence += " " + english[static_cast<std::size_t>(id)];
    }
    return sentence;
}

/// The cosine of two rows of the table.
double cosine(const Tensor& table, Index i, Index j) {
    const auto a = matrix(table).row(i), b = matrix(table).row(j);
    return static_cast<double>(a.dot(b) / (a.norm() * b.norm()));
}
// [next words: main]
void show_next_words(Results& results) {
    section("A table of next words");
    NextWord model(13);
    results.array("rows_before", model.words.table.value.clone());
    for (int step = 1; step <= 1000; ++step) {
        const Real loss = model.step(1);
        if (step == 1 || step == 10 || step == 100 || step == 1000) {
            fmt::print("step {:4d}: loss {:.3f}\n", step, loss);
            results.set_varying(fmt::format("next_loss_{}", step), loss);
        }
    }
    fmt::print("\n");
    for (std::int32_t id : {0, 1, 2, 3, 8, 7, 6, 4}) {
        fmt::print("after {:<7}", english[static_cast<std::size_t>(id)]);
        const std::vector<Real> p = model.probabilities(id);
        for (std::size_t j = 0; j < p.size(); ++j)
            if (p[j] > Real(0.05)) fmt::print("  {:.2f} {}", p[j], english[j]);
        fmt::print("\n");
    }
    fmt::print("\n{}\n", model.says());
    results.array("rows_after", model.words.table.value);
    results.set_varying("next_good", model.probabilities(2)[3]);
    results.set_varying("next_boy", model.probabilities(2)[8]);
}

/// The smallest and the largest of some numbers.
struct Range {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    void add(double x) {
        least = std::min(least, x);
        most = std::max(most, x);
    }
};

void show_seeds(Results& results) {
    section("From twenty random starts");
    int good = 0, boy = 0;
    Range loss, after_a, after_have, alike, others, unread;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        NextWord model(seed);
        const Tensor& rows = model.words.table.value;
        const Tensor start = rows.clone();
        Real last = 0;
        for (int step = 1; step <= 1000; ++step) last = model.step(1);
        loss.add(last);
        for (std::size_t next : {3u, 8u}) after_a.add(model.probabilities(2)[next]);
        after_have.add(model.probabilities(1)[2]);
        for (Index i : {3, 7, 8}) {  // good, girl, boy
            alike.add(cosine(rows, i, i == 3 ? 7 : 3));
            alike.add(cosine(rows, i, i == 8 ? 7 : 8));
            for (Index j : {0, 1, 2, 4, 6}) others.add(cosine(rows, i, j));
        }
        unread.add((matrix(rows).row(5) - matrix(start).row(5)).norm());
        good += model.says() == "I have a good friend .";
        boy += model.says() == "I have a boy friend .";
    }
    fmt::print("{:<40}   least   most\n", "");
    const auto row = [&](const char* what, const std::string& name, const Range& range) {
        fmt::print("{:<40} {:7.3f} {:6.3f}\n", what, range.least, range.most);
        results.set_varying(name + "_least", range.least);
        results.set_varying(name + "_most", range.most);
    };
    row("loss of the last step", "seeds_loss", loss);
    row("probability of good, of boy, after a", "seeds_after_a", after_a);
    row("probability of a after have", "seeds_after_have", after_have);
    row("cosines of good, girl and boy", "seeds_alike", alike);
    row("cosines of these three and other words", "seeds_others", others);
    row("how far the row of . has moved", "seeds_unread", unread);
    fmt::print("\n{:2d} times  I have a good friend .\n{:2d} times  I have a boy friend .\n", good,
               boy);
    results.set_varying("seeds_say_good", good);
    results.set_varying("seeds_say_boy", boy);
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
        show_rows(random, program.results());
        show_next_words(program.results());
        show_seeds(program.results());
        show_padding(random);
        show_scaled(random);
        show_output_map(random, program.results());
    });
}
