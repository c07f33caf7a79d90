// The embedding on the device, against the processor.
#include "chapters/01_embedding/embedding.hpp"
#include "lib/gradcheck.hpp"
#include "tests/devices.hpp"

using namespace abh;

namespace {

Ids some_ids(const Shape& shape, std::int32_t n_words, std::uint64_t seed = 5) {
    Random random(seed);
    return random_ids(shape, 0, n_words, random.stream());
}

struct Result {
    Tensor y, dtable;
};

/// Two steps, so that the second adds to what the first one left.
Result two_steps(Index n_words, Index d_model, const EmbeddingOptions& options,
                 const Shape& shape) {
    Random random(3);
    Embedding embedding(n_words, d_model, options, random);
    Result result;
    for (std::uint64_t step : {1, 2}) {
        Embedding::Cache cache;
        result.y =
            embedding.forward(some_ids(shape, static_cast<std::int32_t>(n_words), step), &cache);
        embedding.backward(
            random_tensor(shape.rank() == 2 ? Shape{shape[0], shape[1], d_model} : shape,
                          10 + step),
            cache);
    }
    result.dtable = embedding.table.grad();
    return result;
}

}  // namespace

TEST_CASE("on the device a look-up copies the same rows, and their gradient has the same bits",
          "[cuda]") {
    for (const Shape& shape : {Shape{1, 1}, Shape{1, 31}, Shape{3, 11}, Shape{2, 257}})
        for (Index d_model : {1, 33, 64, 257})
            for (std::int32_t padding_id : {-1, 0}) {
                CAPTURE(to_string(shape), d_model, padding_id);
                // sqrt(64) is a power of two: no product is rounded, whether fused with a sum or
                // not
                const EmbeddingOptions options{.scale = d_model == 64, .padding_id = padding_id};
                const auto [a, b] = on_both([&] { return two_steps(11, d_model, options, shape); });
                REQUIRE(same_bits(a.y, b.y));
                REQUIRE(same_bits(a.dtable, b.dtable));
            }
}

TEST_CASE("on the device a scaled look-up has the processor's gradient but for fused products",
          "[cuda]") {
    for (Index d_model : {1, 33, 300, 1100}) {
        const auto [a, b] = on_both([&] {
            return two_steps(40, d_model, {.scale = true}, Shape{3, 50});
        });
        REQUIRE(same_bits(a.y, b.y));
        // some ten additions an element, where s dy is rounded or not
        REQUIRE(near(a.dtable, b.dtable, 20));
    }
}

TEST_CASE("on the device one word in all places gets the sum over all of them, in their order",
          "[cuda]") {
    const auto [a, b] = on_both([&] { return two_steps(1, 3, {}, Shape{3, 100}); });
    REQUIRE(same_bits(a.dtable, b.dtable));
    const auto [c, d] = on_both([&] { return two_steps(5000, 3, {}, Shape{3, 100}); });
    REQUIRE(same_bits(c.dtable, d.dtable));
}

TEST_CASE("on the device no word is no error, and a wrong one is the same error", "[cuda]") {
    const OnDevice device;
    Random random(1);
    Embedding embedding(11, 4, {}, random);
    Embedding::Cache cache;
    REQUIRE(embedding.forward(Ids(Shape{2, 0}), &cache).shape() == Shape{2, 0, 4});
    embedding.backward(Tensor(Shape{2, 0, 4}), cache);
    REQUIRE(same_bits(embedding.table.grad(), Tensor::zeros({11, 4})));
    REQUIRE_THROWS_WITH(embedding.forward(Ids({1, 3}, {1, 11, 12})),
                        "embedding: id 11 in a table of 11 words");
}

TEST_CASE("on the device the gradient of the table equals central differences", "[cuda]") {
    if constexpr (in_double) {
        const OnDevice device;
        Random random(7);
        Embedding embedding(7, 5, {.scale = true}, random);
        const Ids ids = some_ids({3, 5}, 7);
        const Tensor dy = random_tensor({3, 5, 5});
        Embedding::Cache cache;
        embedding.forward(ids, &cache);
        embedding.backward(dy, cache);
        const GradientError error =
            check_gradient([&] { return embedding.forward(ids); }, embedding.table.value,
                           embedding.table.grad(), dy);
        INFO(to_string(error));
        REQUIRE(error.relative < 1e-6);
    }
}

TEST_CASE("a warm look-up sends ids to the device and nothing else", "[cuda]") {
    const OnDevice device;
    Random random(7);
    Embedding embedding(50, 33, {.scale = true, .padding_id = 0}, random);
    const Tensor dy = random_tensor({4, 9, 33});
    Transfers before;
    for (std::uint64_t step : {1, 2}) {
        const Ids ids = some_ids({4, 9}, 50, step);
        ids.data();  // from now on in the processor's memory, as a corpus has them
        if (step == 2) before = transfers();
        Embedding::Cache cache;
        embedding.forward(ids, &cache);
        embedding.backward(dy, cache);
    }
    const Transfers after = transfers();
    REQUIRE(after.to_host == before.to_host);
    REQUIRE(after.to_device == before.to_device + 1);
    REQUIRE(after.bytes_to_device == before.bytes_to_device + 4 * 9 * 4);
}
