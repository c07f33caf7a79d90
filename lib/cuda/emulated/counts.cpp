#include <algorithm>

#include "lib/cuda/emulated/running_kernel.cuh"

namespace abh::emulator {
// [access]
namespace {

using cuda::detail::counts;

/// An access by one thread. Those with the same warp, place and visit are one request, and if they
/// have the same part, too, they are served together.
struct Access {
    int warp;
    Place place;
    int visit, part;
    bool shared;
    const void* region;
    std::int64_t unit;  ///< sector, or word of shared memory

    auto operator<=>(const Access&) const = default;
};

cuda::KernelCount* count = nullptr;  // of the running kernel
std::vector<Access> accesses;        // of the running block

}  // namespace

void count_access(const Region& region, const Use& use, const Place& place) {
    const bool shared = region.element_bytes > 0;
    int& visits = thread_of(kernel.thread).visits[place];
    if (use.part == 0) ++visits;
    accesses.push_back(
        {kernel.thread / 32, place, visits, use.part, shared, &region, use.at / (shared ? 4 : 32)});
    if (!shared) count->bytes += static_cast<Index>(use.size);
}
// [launch]
void count_launch(Index blocks, Index threads_of_block) {
    accesses.clear();  // of a kernel that failed
    const auto known = std::ranges::find(counts, kernel.name, &cuda::KernelCount::name);
    count = known == counts.end() ? &counts.emplace_back(cuda::KernelCount{.name = kernel.name})
                                  : &*known;
    ++count->launches;
    count->blocks += blocks;
    count->threads += blocks * threads_of_block;
}

void count_barrier() {
    ++count->barriers;
}
// [block]
void count_block() {
    std::sort(accesses.begin(), accesses.end());
    accesses.erase(std::unique(accesses.begin(), accesses.end()), accesses.end());
    const auto together = [](const Access& a, const Access& b) {
        return a.warp == b.warp && a.place == b.place && a.visit == b.visit && a.part == b.part &&
               a.shared == b.shared;
    };
    for (auto first = accesses.begin(); first != accesses.end();) {
        auto last = first;
        std::array<Index, 32> words_of_bank{};
        for (; last != accesses.end() && together(*first, *last); ++last)
            ++words_of_bank[static_cast<std::size_t>(last->unit % 32)];
        if (first->shared) {
            count->shared_requests += first->part == 0;
            count->shared_turns += *std::max_element(words_of_bank.begin(), words_of_bank.end());
        } else {
            ++count->requests;
            count->sectors += last - first;
        }
        first = last;
    }
    accesses.clear();
    for (Thread& thread : kernel.threads) thread.visits.clear();
}

}  // namespace abh::emulator
