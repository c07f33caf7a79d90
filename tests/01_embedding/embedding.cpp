// Per real and way: looking up words, and adding their gradients back.
#include "chapters/01_embedding/embedding.hpp"

#include <cmath>

#include "lib/eigen.hpp"
#include "tests/gradients.hpp"
#include "tests/proof/operations.hpp"

using namespace abh;

namespace {

Ids ids_of(const Shape& shape, std::int32_t n_words, std::uint64_t seed = 5) {
    Random random(seed);
    return random_ids(shape, 0, n_words, random.stream());
}

}  // namespace

TEST_CASE("scaled vectors are the rows times the root of d_model") {
    Random one(3), two(3);
    const Embedding plain(1000, 512, {}, one), scaled(1000, 512, {.scale = true}, two);
    const Ids ids({2, 4}, {100, 2, 421, 508, 491, 998, 1, 221});
    const Tensor y = scaled.forward(ids);
    Tensor expected = plain.forward(ids);
    expected *= std::sqrt(Real(512));
    CHECK(same_bits(y, expected));
    // 4096 numbers of deviation sqrt(512) = 22.627: their own deviation has standard error
    // 22.627 / sqrt(2 * 4096) = 0.25, and four of those are 1
    const double deviation = std::sqrt(dot(y, y) / static_cast<double>(y.size()));
    CHECK(std::abs(deviation - 22.627) < 1);
}

TEST_CASE("the table starts normal, with the deviation of the options or 1") {
    for (const Real deviation : {Real(1), Real(0.25)}) {
        Random random(4);
        const EmbeddingOptions options =
            deviation == 1 ? EmbeddingOptions() : EmbeddingOptions{.deviation = deviation};
        const Embedding embedding(500, 40, options, random);
        const auto values = vector(embedding.table.value).cast<double>().eval() / deviation;
        CHECK(std::abs(values.mean()) < 4 / std::sqrt(20000.0));                         // 4 errors
        CHECK(std::abs(values.squaredNorm() / 20000 - 1) < 4 * std::sqrt(2.0 / 20000));  // 4 errors
    }
}

TEST_CASE("the gradient of a repeated word is the sum over its places") {
    Random random(1);
    Embedding embedding(10, 3, {}, random);
    Embedding::Cache cache;
    embedding.forward(Ids({2, 4}, {1, 2, 4, 5, 4, 3, 2, 9}), &cache);
    Tensor dy({2, 4, 3});  // row i is (i+1, i+1, i+1)
    for (Index i = 0; i < dy.size(); ++i) dy.data()[i] = static_cast<Real>(i / 3 + 1);
    embedding.backward(dy, cache);
    const Real expected[10] = {0, 1, 2 + 7, 6, 3 + 5, 4, 0, 0, 0, 8};
    for (Index w = 0; w < 10; ++w)
        for (Index c = 0; c < 3; ++c) CHECK(embedding.table.grad()(w, c) == expected[w]);
}

TEST_CASE("the padding row gets no gradient, and the other rows get theirs") {
    Random one(6), two(6);
    Embedding with(5, 3, {.scale = true, .padding_id = 2}, one);
    Embedding without(5, 3, {.scale = true}, two);
    const Ids ids({2, 4}, {2, 0, 4, 2, 1, 2, 4, 4});
    const Tensor dy = random_tensor({2, 4, 3});
    for (Embedding* embedding : {&with, &without}) {
        Embedding::Cache cache;
        embedding->forward(ids, &cache);
        embedding->backward(dy, cache);
    }
    for (Index w = 0; w < 5; ++w) {
        const auto row = matrix(with.table.grad()).row(w);
        if (w == 2)
            CHECK(row.isZero(0));
        else
            CHECK(row == matrix(without.table.grad()).row(w));
    }
    CHECK(matrix(with.table.value).row(2).isZero(0));
    CHECK(!matrix(without.table.grad()).row(2).isZero(0));
}

TEST_CASE("the gradient of the table equals central differences, and adds up") {
    check_trial(proof::embedding({}));
    check_trial(proof::embedding({.scale = true}));
    check_trial(proof::embedding({.scale = true, .padding_id = 0}));
}

TEST_CASE("a look-up gives the same bits for the same seed and any number of threads") {
    const Ids ids = ids_of({16, 40}, 300);
    const Tensor dy = random_tensor({16, 40, 64});
    const auto run = [&](std::uint64_t seed) {
        Random random(seed);
        Embedding embedding(300, 64, {.scale = true}, random);
        Embedding::Cache cache;
        const Tensor y = embedding.forward(ids, &cache);
        embedding.backward(dy, cache);
        return with_gradients({y}, embedding);
    };
    same_for_threads([&] { return run(11); });
    CHECK_FALSE(same_bits(run(11)[0], run(12)[0]));
}

TEST_CASE("a look-up says what is wrong with its input") {
    Random random(1);
    Embedding embedding(11, 4, {}, random);
    CHECK_THROWS_WITH(embedding.forward(Ids({1, 3}, {1, 11, 12})),
                      "embedding: id 11 is not in the table of 11 words");
    CHECK_THROWS_WITH(embedding.forward(Ids({1, 2}, {0, -1})),
                      "embedding: id -1 is not in the table of 11 words");
    CHECK_THROWS_WITH(embedding.forward(Ids({3}, {1, 2, 3})),
                      "embedding: ids have shape [3], expected [B, L]");
    CHECK_THROWS_WITH(Embedding(0, 4, {}, random),
                      "embedding: 0 words of width 4; both must be at least 1");
    CHECK_THROWS_WITH(Embedding(3, 4, {.scale = false, .padding_id = 3}, random),
                      "embedding: padding id 3 is not in the table of 3 words");
    Embedding::Cache cache;
    embedding.forward(Ids({1, 2}, {0, 1}), &cache);
    CHECK_THROWS_WITH(
        embedding.backward(Tensor({1, 2, 5}), cache),
        Contains("embedding backward") && Contains("[1, 2, 5]") && Contains("[1, 2, 4]"));
}

TEST_CASE("no word is no error") {
    Random random(1);
    Embedding embedding(11, 4, {}, random);
    Embedding::Cache cache;
    CHECK(embedding.forward(Ids(Shape{2, 0}), &cache).shape() == Shape{2, 0, 4});
    embedding.backward(Tensor(Shape{2, 0, 4}), cache);
    CHECK(same_bits(embedding.table.grad(), Tensor::zeros({11, 4})));
}

// The ways ---------------------------------------------------------------------------------------

namespace {

/// The vectors of two steps and the gradient of the table: the second step adds to the first one's.
std::vector<Tensor> two_steps(Index n_words, Index d_model, const EmbeddingOptions& options,
                              const Shape& shape) {
    Random random(3);
    Embedding embedding(n_words, d_model, options, random);
    std::vector<Tensor> results;
    for (std::uint64_t step : {1u, 2u}) {
        Embedding::Cache cache;
        results.push_back(
            embedding.forward(ids_of(shape, static_cast<std::int32_t>(n_words), step), &cache));
        embedding.backward(random_tensor(results.back().shape(), 10 + step), cache);
    }
    results.push_back(embedding.table.grad());
    return results;
}

}  // namespace

TEST_CASE("every way of the embedding agrees with plain") {
    for (const Shape& shape : {Shape{0, 3}, Shape{1, 1}, Shape{3, 11}})
        for (Index d_model : {1, 33, 300, 1100}) {
            CAPTURE(to_string(shape), d_model);
            same_in_every_way(
                [&] { return two_steps(40, d_model, {.scale = true, .padding_id = 3}, shape); });
        }
}

TEST_CASE("where the factor rounds nothing, every way of the embedding has plain's numbers") {
    for (const Shape& shape : {Shape{1, 1}, Shape{1, 31}, Shape{2, 131}})
        for (Index d_model : {1, 33, 64})
            for (std::int32_t padding_id : {-1, 0}) {
                CAPTURE(to_string(shape), d_model, padding_id);
                // sqrt(64) is a power of two: whether a product is fused with a sum makes no
                // difference
                const EmbeddingOptions options{.scale = d_model == 64, .padding_id = padding_id};
                same_in_every_way([&] { return two_steps(11, d_model, options, shape); }, 0);
            }
}

TEST_CASE("every way adds the gradients of one word in the order of its places") {
    for (Index n_words : {1, 5000})
        same_in_every_way([&] { return two_steps(n_words, 3, {}, {3, 100}); }, 0);
}
