#include "chapters/02_positional_encoding/measures.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "lib/eigen.hpp"
#include "lib/matmul.hpp"
#include "lib/program/output.hpp"
#include "lib/random.hpp"

namespace abh {
// [still]
Index count_still(const Tensor& table, Index first) {
    const auto moving = matrix(table).bottomRows(table.dim(0) - first);
    return ((moving.colwise().maxCoeff() - moving.colwise().minCoeff()).array() < Real(0.01))
        .count();
}
// [dots]
Tensor dots_by_distance(const Tensor& table, Index n, Index first) {
    const Tensor dots = matmul(table, table, {.transpose_b = true});  // [L, L]
    Tensor range({2, n});
    for (Index shift = 0; shift < n; ++shift) {
        const auto pairs = matrix(dots).diagonal(shift);  // all t and t + shift
        range(0, shift) = pairs.tail(pairs.size() - first).minCoeff();
        range(1, shift) = pairs.tail(pairs.size() - first).maxCoeff();
    }
    return range;
}
// [single precision]
double single_precision_error(const Tensor& table) {
    double worst = 0;
    for (Index i = 0; 2 * i < table.dim(1); ++i) {
        const auto frequency = static_cast<float>(sinusoid_frequency(i, table.dim(1)));
        for (Index t = 0; t < table.dim(0); ++t) {
            const float sine = std::sin(static_cast<float>(t) * frequency);
            worst = std::max<double>(worst, std::abs(static_cast<Real>(sine) - table(t, 2 * i)));
        }
    }
    return worst;
}
// [words and positions]
void show_mixture(Index d_model, std::uint64_t seed, Results& results) {
    const double root = std::sqrt(static_cast<double>(d_model));
    const auto words_of = [&](double deviation) {  // from the same random numbers each time
        Random same_seed(seed);
        Tensor words = normal({200, d_model}, same_seed.stream());
        words *= static_cast<Real>(deviation);
        return words;
    };
    section("Words beside positions");
    const double code_length = root / std::sqrt(2.0);  // of any position
    fmt::print("sigma    length of a word  length of a code  share of the positions\n");
    for (const auto& [name, deviation] :
         {std::pair{"narrow", 1 / root}, std::pair{"wide", 1.0}, std::pair{"scaled", root}}) {
        const Tensor words = words_of(deviation);
        const double square = dot(words, words) / 200;  // mean squared length of a row
        const double share = 100 * code_length * code_length / (code_length * code_length + square);
        fmt::print("{:<7.3f}  {:16.3f}  {:16.3f}  {:20.2f} %\n", deviation, std::sqrt(square),
                   code_length, share);
        results.set(fmt::format("share_{}", name), share);
        results.array(name, words.rows(5, 6));  // one word, for the figure
    }

    section("Words against positions");
    const Tensor code = sinusoid_table(200, d_model);
    const Tensor distance = dots_by_distance(code, 11);
    fmt::print(
        "sigma    same word  two words (rms)  word and position (rms)  same position  10 apart\n");
    for (double deviation : {1 / root, 1.0, root}) {
        const Tensor words = words_of(deviation);
        const Tensor ww = matmul(words, words, {.transpose_b = true});  // [200, 200]
        const Tensor wp = matmul(words, code, {.transpose_b = true});   // [200, 200]
        const auto own = matrix(ww).diagonal().cast<double>().eval();
        const double others = std::sqrt((dot(ww, ww) - own.squaredNorm()) / (200 * 199));
        fmt::print("{:<7.3f}  {:9.6g}  {:15.3f}  {:23.3f}  {:13.1f}  {:8.1f}\n", deviation,
                   own.mean(), others, std::sqrt(dot(wp, wp) / (200 * 200)), distance(0, 0),
                   distance(0, 10));
    }
}

}  // namespace abh
