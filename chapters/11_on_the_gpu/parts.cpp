#include "chapters/11_on_the_gpu/parts.hpp"

namespace abh {
// [parts]
std::vector<Part> parts_of_a_step() {
    const double rows = 64 * 64, d = 512, d_ff = 2048, heads = 8, length = 64, words = 8000;
    const auto map = [&](double d_in, double d_out) {
        return Part{"", 2 * rows * d_in * d_out, rows * (d_in + d_out) + d_in * d_out};
    };
    const auto named = [](const char* name, Part part) {
        part.name = name;
        return part;
    };
    const double scores = rows * length * heads;  // of all queries, keys and heads
    const double weights = 18 * 4 * d * d + 12 * 2 * d * d_ff + 3 * words * d;  // but for vectors
    return {
        {"embedding, scaled", rows * d, 2 * rows * d},
        {"bias and ReLU", 2 * rows * d_ff, 2 * rows * d_ff},
        // reads x and the branch; writes y, the normalized row, and a byte of kept
        {"residual, dropout, norm", 11 * rows * d, 4.25 * rows * d},
        {"softmax of all scores", 5 * scores, 2 * scores},
        {"Adam", 14 * weights, 7 * weights},  // reads w, g, m, v; writes w, m, v
        // the second reading is left out: a cache mostly serves it
        {"cross entropy", 5 * rows * words, 2 * rows * words},
        {"attention, fused", 4 * scores * d / heads, 4 * rows * d},
        named("linear map, 512 to 512", map(d, d)),
        named("linear map, 512 to 2048", map(d, d_ff)),
        named("linear map, to 8000 words", map(d, words)),
    };
}

}  // namespace abh
