// Per real and way: formats of blocks, against the package gguf (golden/blocks.json), and products.
#include "chapters/15_language_model/published/blocks.hpp"

#include <nlohmann/json.hpp>

#include "lib/eigen.hpp"
#include "lib/io/files.hpp"
#include "tests/products.hpp"

using namespace abh;
using nlohmann::json;

namespace {

constexpr NumberKind all_kinds[] = {NumberKind::f32,  NumberKind::f16,  NumberKind::bf16,
                                    NumberKind::q8_0, NumberKind::q4_0, NumberKind::q4_1};

const json& golden_blocks() {
    static const json content = json::parse(read_file(ABH_GOLDEN "/blocks.json"));
    return content;
}

std::vector<Real> reals(const json& numbers) {
    std::vector<Real> found;
    for (const json& number : numbers) found.push_back(number.get<float>());
    return found;
}

std::vector<std::byte> bytes_of(NumberKind kind) {
    std::vector<std::byte> bytes;
    for (const json& byte : golden_blocks()["kinds"][format_of(kind).name]["bytes"])
        bytes.push_back(static_cast<std::byte>(byte.get<int>()));
    return bytes;
}

std::vector<Real> read(NumberKind kind, const std::vector<std::byte>& blocks, std::size_t n) {
    std::vector<Real> numbers(n);
    read_blocks(kind, blocks.data(), numbers);
    return numbers;
}

std::vector<Real> rounded(NumberKind kind, const std::vector<Real>& numbers) {
    return read(kind, round_to_blocks(kind, numbers), numbers.size());
}

/// How far fp16 may be from a number: half of its last bit, of 11, or of the smallest number.
double off_in_fp16(double number) {
    return std::max(std::ldexp(std::abs(number), -11), std::ldexp(1, -25));
}

/// The most that a number of a block may be off, for numbers between `low` and `high`.
double most_off(NumberKind kind, double low, double high) {
    const double largest = std::max(-low, high);
    // Beside what is derived here, a few operations round to float.
    const double float_rounding = std::ldexp(largest, -21);
    switch (kind) {
        case NumberKind::f16:
            return off_in_fp16(largest);
        case NumberKind::bf16:
            return std::ldexp(largest, -8);
        case NumberKind::q8_0: {  // half a step, and up to 127 times what the scale is off
            const double scale = largest / 127;
            return scale / 2 + 127 * off_in_fp16(scale) + float_rounding;
        }
        case NumberKind::q4_0: {  // -8 to 7 steps, so at the other end it is off by a whole one
            const double scale = largest / 8;
            return scale + 8 * off_in_fp16(scale) + float_rounding;
        }
        case NumberKind::q4_1: {  // half a step; 0 to 15 steps above the minimum
            const double scale = (high - low) / 15;
            return scale / 2 + 15 * off_in_fp16(scale) + off_in_fp16(low) + float_rounding;
        }
        default:
            return 0;
    }
}

}  // namespace

TEST_CASE("blocks are read as the package gguf reads them, to the bit") {
    for (const NumberKind kind : all_kinds) {
        INFO(format_of(kind).name);
        const std::vector<Real> expected = reals(
                                    golden_blocks()["kinds"][format_of(kind).name]["numbers"]),
                                found = read(kind, bytes_of(kind), expected.size());
        CHECK(std::memcmp(found.data(), expected.data(), found.size() * sizeof(Real)) == 0);
    }
}

TEST_CASE("numbers are rounded to the bytes that the package gguf writes") {
    for (const NumberKind kind : all_kinds) {
        INFO(format_of(kind).name);
        CHECK(round_to_blocks(kind, reals(golden_blocks()["numbers"])) == bytes_of(kind));
    }
}

TEST_CASE("a format is found by the name that files give it") {
    for (const NumberKind kind : all_kinds) CHECK(kind_named(format_of(kind).name) == kind);
    CHECK(!kind_named("Q4_K"));
    CHECK(!kind_named("q4_0"));
}

TEST_CASE("a rounded number is off by at most half a step, and what fp16 adds") {
    const Tensor x = random_tensor({200, 32});
    for (const NumberKind kind : all_kinds)
        for (Index r = 0; r < x.dim(0); ++r) {
            INFO(format_of(kind).name << ", row " << r);
            const Real size = std::ldexp(Real(1), static_cast<int>(r % 50) - 35);
            std::vector<Real> block(32);
            for (Index i = 0; i < 32; ++i)
                block[static_cast<std::size_t>(i)] = static_cast<float>(x(r, i) * size);
            const auto [low, high] = std::ranges::minmax(block);
            const std::vector<Real> found = rounded(kind, block);
            for (std::size_t i = 0; i < 32; ++i)
                REQUIRE(std::abs(static_cast<double>(found[i]) - static_cast<double>(block[i])) <=
                        most_off(kind, low, high));
        }
}

TEST_CASE("infinity and NaN are kept where a number is a block, and refused elsewhere") {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    for (const NumberKind kind : {NumberKind::f32, NumberKind::f16, NumberKind::bf16}) {
        const std::vector<Real> found = rounded(kind, {infinity, -infinity, std::nan("")});
        CHECK(found[0] == infinity);
        CHECK(found[1] == -infinity);
        CHECK(std::isnan(found[2]));
    }
    for (const NumberKind kind : {NumberKind::q8_0, NumberKind::q4_0, NumberKind::q4_1}) {
        const std::string name = format_of(kind).name;
        for (const Real bad : {infinity, static_cast<Real>(std::nan(""))}) {
            std::vector<Real> block(32, 1);
            block[31] = bad;
            CHECK_THROWS_WITH(round_to_blocks(kind, block), "round_to_blocks: a block of " + name +
                                                                " cannot hold infinity or NaN");
        }
        CHECK_THROWS_WITH(round_to_blocks(kind, std::vector<Real>(32, Real(-1e10))),
                          Catch::Contains("beyond fp16"));
    }
    std::vector<std::byte> block = round_to_blocks(NumberKind::q8_0, std::vector<Real>(32, 1));
    block[0] = std::byte{0}, block[1] = std::byte{0x7c};  // the scale is infinite
    CHECK(read(NumberKind::q8_0, block, 32)[0] == infinity);
}

TEST_CASE("a product with blocks is that with the numbers that they stand for") {
    for (const NumberKind kind : all_kinds) {
        const Index step = format_of(kind).numbers;
        for (const Index columns : {step, 3 * step, 64 + step, Index{576}})
            for (const Index rows : {1, 3, 4, 67}) {
                const BlockMatrix w = rounded_matrix(random_tensor({rows, columns}, 4), kind);
                const Tensor numbers = w.read_rows(0, rows);
                for (const Index m : {1, 2, 3, 4, 5, 17, 64, 100}) {
                    INFO(format_of(kind).name << ", " << m << " x " << columns << " x " << rows);
                    const Tensor x = random_tensor({m, columns}, 5);
                    const Tensor y = w.multiply(x),
                                 expected = naive_matmul(x, numbers, {.transpose_b = true});
                    // A sum of n terms is off by n epsilons of their sizes' sum. Scale and minimum
                    // apart, these sizes are at most three times those of the largest number.
                    const auto n = static_cast<double>(columns + 8);
                    const double largest = vector(numbers).array().abs().maxCoeff();
                    const double sizes = matrix(x).array().abs().rowwise().sum().maxCoeff();
                    // In few rows of floats, x has 65,534 steps from end to end of its range, so
                    // half a step is this; it meets scale times q, at most twice the largest
                    // number.
                    const double half_step = vector(x).array().abs().maxCoeff() / 65534;
                    const bool rounds =
                        way() == Way::fast && sizeof(Real) == 4 && m <= 4 && step > 1;
                    const double rounding = rounds ? n * half_step * 2 * largest : 0;
                    REQUIRE(y.shape() == expected.shape());
                    CHECK(max_difference(y, expected) <= n * eps * 3 * largest * sizes + rounding);
                }
            }
    }
}

TEST_CASE("infinity and NaN in a row pass through its product with blocks, and only there") {
    for (const NumberKind kind : all_kinds) {
        INFO(format_of(kind).name);
        const BlockMatrix w = rounded_matrix(random_tensor({7, 96}, 4), kind);
        for (const Index m : {3, 70}) {
            Tensor x = random_tensor({m, 96}, 5);
            x(0, 40) = static_cast<Real>(std::nan(""));
            x(2, 95) = std::numeric_limits<Real>::infinity();
            const Tensor y = w.multiply(x);
            for (Index j = 0; j < 7; ++j) {
                CHECK(std::isnan(y(0, j)));
                CHECK(std::isfinite(y(1, j)));
                CHECK(!std::isfinite(y(2, j)));
            }
        }
    }
}

TEST_CASE("a product with blocks has the same bits for any number of threads") {
    for (const NumberKind kind : all_kinds) {
        const BlockMatrix w = rounded_matrix(random_tensor({203, 96}, 4), kind);
        same_for_threads([&] {
            return std::vector{w.multiply(random_tensor({1, 96}, 5)),
                               w.multiply(random_tensor({3, 96}, 6)),
                               w.multiply(random_tensor({70, 96}, 7))};
        });
    }
}

TEST_CASE("blocks may begin at any address") {
    for (const NumberKind kind : all_kinds) {
        const Tensor w = random_tensor({5, 64}, 4), x = random_tensor({2, 64}, 5);
        std::vector<std::byte> bytes = round_to_blocks(kind, w.values());
        bytes.insert(bytes.begin(), std::byte{0});
        const BlockMatrix odd(kind, 5, 64, bytes.data() + 1, nullptr);
        CHECK(same_bits(odd.multiply(x), rounded_matrix(w, kind).multiply(x)));
        CHECK(same_bits(odd.read_rows(1, 3), rounded_matrix(w, kind).read_rows(1, 3)));
    }
}

TEST_CASE("sizes that do not fit are refused") {
    CHECK_THROWS_WITH(round_to_blocks(NumberKind::q4_1, std::vector<Real>(33)),
                      "round_to_blocks: 33 numbers do not fill whole blocks of Q4_1, 32 each");
    CHECK_THROWS_WITH(BlockMatrix(NumberKind::q8_0, 2, 48, nullptr, nullptr),
                      "block matrix: rows of 48 numbers are not whole blocks of Q8_0, 32 each");
    const BlockMatrix w = rounded_matrix(random_tensor({3, 64}), NumberKind::q4_0);
    CHECK_THROWS_WITH(w.multiply(Tensor({2, 32})),
                      "block product: x has shape [2, 32], expected [..., 64]");
    CHECK_THROWS_WITH(w.read_rows(2, 4), "block matrix: no rows 2 to 4 in 3");
    CHECK_THROWS_WITH(rounded_matrix(Tensor({64}), NumberKind::q4_0),
                      "rounded matrix: w has shape [64], expected [rows, columns]");
}
