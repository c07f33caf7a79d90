#include "judge/answer/cases.hpp"

#include <algorithm>

using namespace abh;
using namespace abh::judge;

namespace {

/// `a b`, with at most the first `depth` terms of each sum.
Tensor product(const Tensor& a, const Tensor& b, Index depth) {
    const Index m = a.dim(0), k = std::min(depth, a.dim(1)), n = b.dim(1);
    Tensor c({m, n});
    c.fill(0);
    for (Index i = 0; i < m; ++i)
        for (Index p = 0; p < k; ++p)
            for (Index j = 0; j < n; ++j) c(i, j) += a(i, p) * b(p, j);
    return c;
}

Case start(Cases& cases, const char* criterion, const char* call, Index m, Index k, Index n) {
    const Tensor a = cases.normal({m, k}), b = cases.normal({k, n});
    return {.criterion = criterion,
            .call = call,
            .arguments = values(a, b),
            .results = values(product(a, b, k)),
            .about = "a " + to_string(a.shape()) + " and b " + to_string(b.shape()) + ", drawn",
            .names = {"a", "b", "c"},
            .mistakes = {{"only the first 16 along k are added", values(product(a, b, 16))}}};
}

/// A product of 128 x 128 matrices; what the emulator counts beyond the limits is a result, too.
Case counted(Cases& cases, const char* criterion, const char* call) {
    Case c = start(cases, criterion, call, 128, 128, 128);
    c.mistakes.clear();
    return c;
}

void mistake(Case& c, const char* says, Index count) {
    Values wrong = c.results;
    wrong.back() = value(count);
    c.mistakes.push_back({says, wrong});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    cases.add(start(cases, "products", "product", 64, 16, 64));
    cases.add(start(cases, "products", "product", 64, 48, 128));
    cases.add(start(cases, "every size", "product", 1, 1, 1));
    cases.add(start(cases, "every size", "product", cases.between(65, 90), 17, 3));
    cases.add(
        start(cases, "every size", "product", 5, cases.between(33, 60), cases.between(65, 90)));

    Case memory = counted(cases, "device memory", "device_memory");
    const Index bytes = (2 * 2 * 128 * 128 + 128 * 128) * static_cast<Index>(sizeof(Real));
    append(memory.results, bytes, 0);
    memory.names.insert(memory.names.end(), {"the number of bytes that threads ask for",
                                             "the number of sectors beyond what neighbors need"});
    const char* const apart =
        "the columns of a thread lie side by side, so neighbors are four numbers apart";
    mistake(memory, apart, 12288);
    cases.add(memory);

    Case requests = counted(cases, "requests", "requests");
    append(requests.results, 0);
    requests.names.push_back("the number of requests to shared memory beyond 35,000");
    mistake(requests, "these are the requests of tiles of 16 x 16", 139264 - 35000);
    mistake(requests, "each of the 16 products reads both of its factors from shared memory",
            4 * 8 * (8 * 16 * 32 + 64) - 35000);
    cases.add(requests);

    Case turns = counted(cases, "conflicts", "turns");
    append(turns.results, 0);
    turns.names.push_back("the number of turns beyond 40,000");
    mistake(turns, "two rows of the tile of a lie in the same bank: how long is each row?",
            32 * (512 + 1024 + 128) - 40000);
    mistake(turns, apart, 46016);
    cases.add(turns);
}
