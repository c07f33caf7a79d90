#include <algorithm>
#include <array>
#include <set>

#include "judge/answer/serve.hpp"
#include "lib/cuda/counts.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {
int place(int i, int j);
Tensor turn(const Tensor& x);
}  // namespace abh::mine

namespace {

using namespace abh;

constexpr int tile = 32;

/// The turns that a warp needs for all elements of a row, or of a column, in the worst case.
Index turns(bool of_rows) {
    Index worst = 0;
    for (int line = 0; line < tile; ++line) {
        std::array<std::set<int>, 32> words_of_bank;
        for (int k = 0; k < tile; ++k) {
            const int at = of_rows ? mine::place(line, k) : mine::place(k, line);
            const int word = at * static_cast<int>(sizeof(Real) / 4);
            words_of_bank[static_cast<std::size_t>((word % 32 + 32) % 32)].insert(word);
        }
        for (const std::set<int>& words : words_of_bank)
            worst = std::max(worst, static_cast<Index>(words.size()));
    }
    return worst;
}

judge::Values places() {
    std::set<int> seen;
    Index outside = 0;
    for (int i = 0; i < tile; ++i)
        for (int j = 0; j < tile; ++j) {
            const int at = mine::place(i, j);
            outside += at < 0 || at >= tile * tile;
            seen.insert(at);
        }
    return judge::values(outside, tile * tile - static_cast<Index>(seen.size()), turns(true),
                         turns(false));
}

/// The result, the bytes asked for, and the sectors and turns beyond what is needed.
judge::Values counted(const Tensor& x) {
    cuda::count_kernels(true);
    judge::Values results = judge::values(mine::turn(x));
    Index bytes = 0, sectors = 0, requests = 0, turns = 0;
    for (const cuda::KernelCount& c : cuda::kernel_counts()) {
        bytes += c.bytes;
        sectors += c.sectors;
        requests += c.shared_requests;
        turns += c.shared_turns;
    }
    cuda::count_kernels(false);
    judge::append(results, bytes, std::max(Index{0}, sectors - bytes / 32),
                  std::max(Index{0}, turns - 2 * requests));
    return results;
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"places", [](const Values&) { return places(); }},
                  {"turn", function(abh::mine::turn)},
                  {"counted", [](const Values& x) { return counted(as<Tensor>(x.at(0))); }}});
}
