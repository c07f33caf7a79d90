#include "judge/answer/cases.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "lib/cuda/counts.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

constexpr Index side = 64, single = 4;

Index computed(Index n) {
    return n * (n + 1) / 2;
}

/// Compares the count of tiles with chapter 5's kernel, whose tiles are 32 x 32 in double
/// precision. With look-ahead it must save exactly the keys and values of the hidden tiles, because
/// it reads nothing for these.
void check_against_the_kernel() {
    constexpr Index tile = 32, d_k = 32, n = 3, heads = 2;
    set_way(Way::cuda);
    const Tensor q = normal({1, tile * n, heads * d_k}, Random(1).stream());
    const auto bytes = [&](bool causal) {
        AttentionMask mask;
        mask.causal = causal;
        attend_heads(q, q, q, heads, mask);
        cuda::count_kernels(true);
        attend_heads(q, q, q, heads, mask);
        const Index count = cuda::kernel_counts().front().bytes;
        cuda::count_kernels(false);
        return count;
    };
    const Index of_tile = 2 * tile * d_k * static_cast<Index>(sizeof(Real));
    if (bytes(false) - bytes(true) != heads * (n * n - computed(n)) * of_tile)
        throw std::logic_error("chapter 5's kernel skips other tiles than this exercise");
}

/// When the last of `n` blocks is done, if block b computes b + 1 tiles and each of `cores` cores
/// takes the next block as soon as it is free.
Index done(Index n, Index cores, bool longest_first) {
    std::vector<Index> free(static_cast<std::size_t>(cores), 0);
    for (Index b = 0; b < n; ++b)
        *std::min_element(free.begin(), free.end()) += longest_first ? n - b : b + 1;
    return *std::max_element(free.begin(), free.end());
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    Index n = 0, cores = 0;
    do {  // until the two orders differ
        n = cases.between(6, 14);
        cores = cases.between(3, 5);
    } while (done(n, cores, true) == done(n, cores, false));
    const Index H = cases.between(3, 16), d_k = 8 * cases.between(3, 16);
    const Values drawn = values(n, H, d_k, cores);
    const std::vector<std::string> names{"n", "H", "d_k", "cores"};
    cases.given(drawn, names);
    check_against_the_kernel();
    const auto ask = [&](const char* line, double number,
                         const std::vector<std::pair<const char*, double>>& wrong,
                         double tolerance = 1e-9) {
        Case c{.criterion = line,
               .call = line,
               .arguments = drawn,
               .results = values(static_cast<Real>(number)),
               .tolerance = tolerance,
               .names = names};
        for (const auto& [says, instead] : wrong)
            c.mistakes.push_back({says, values(static_cast<Real>(instead))});
        cases.add(c);
    };
    const auto real = [](Index number) { return static_cast<double>(number); };

    ask("hidden_tiles", real(n * (n - 1) / 2),
        {{"the tiles on the diagonal are hidden in part only", real(n * (n + 1) / 2)},
         {"half of all tiles is not exact: those on the diagonal are not hidden", real(n * n) / 2},
         {"count the tiles of one head", real(H * n * (n - 1) / 2)}});
    const Index of_tile = 2 * side * d_k * single;
    ask("key_value_bytes", real(H * computed(n) * of_tile),
        {{"this is without look-ahead", real(H * n * n * of_tile)},
         {"this loads each tile of keys only once, but many blocks load the same keys",
          real(H * n * of_tile)},
         {"keys and values are two arrays", real(H * computed(n) * of_tile / 2)},
         {"the diagonal's tiles are computed, too", real(H * (computed(n) - n) * of_tile)},
         {"count all heads", real(computed(n) * of_tile)}});
    // a tile takes 4 * 64 * 64 * d_k operations; blocks move q, y (64 n rows each), keys, values
    const double intensity = 32 * real(n + 1) / real(n + 3);
    ask("intensity", intensity,
        {{"this is without look-ahead", 32 * real(n) / real(n + 1)},
         {"a multiply-add is two operations", intensity / 2},
         {"q and y are forgotten", 32},
         {"a number has 4 bytes", 4 * intensity}},
        2e-3);
    ask("longest_block", 2 * real(n) / real(n + 1),
        {{"the mean block computes (n + 1) / 2 tiles", 2},
         {"this is the longest block alone: divide by the mean", real(n)}},
        2e-3);
    ask("shortest_first", real(done(n, cores, false)),
        {{"this is with the longest first", real(done(n, cores, true))}});
    ask("longest_first", real(done(n, cores, true)),
        {{"this is with the shortest first", real(done(n, cores, false))},
         {"this shares the tiles out evenly, but a block stays on its core",
          real((computed(n) + cores - 1) / cores)}});
}
