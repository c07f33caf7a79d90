#pragma once

// The kernel that the emulator runs: its threads, its messages, and what it asks of memory.
#include <array>
#include <boost/context/fiber.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/cuda/counts.hpp"
#include "lib/cuda/emulated/emulator.cuh"

namespace abh::emulator {
// [threads]
/// A copy from device memory to shared memory that has been begun.
struct Copy {
    Region *to, *from;
    Use there, here;
    int group;
    Place place;
};

/// What a lane holds of A and, in the last two, of B for a product on tensor cores.
using Registers = std::array<std::uint32_t, 6>;

/// A thread of the running block.
struct Thread {
    dim3 index;
    Waits waits = Waits::no;
    Place place;                           ///< where it waits
    boost::context::fiber fiber;           ///< that it waits in
    std::array<std::uint64_t, 2> given{};  ///< to the others of its warp, used in turn
    int exchanges = 0;
    std::map<Place, int> visits;  ///< of each access, while counting
    std::vector<Copy> copies = {};
    int group = 0;                            ///< of the copies that are begun next
    std::array<Registers, 2> registers = {};  ///< given to the others of its warp, used in turn
    std::array<std::pair<Region*, std::int64_t>, 2> rows;  ///< of a matrix, in the same way
};
// [state]
/// The running kernel.
struct Kernel {
    const char* name;
    const std::function<void()>* body;
    std::vector<Thread> threads;
    std::vector<int> order;  ///< in which the threads begin
    std::size_t begun = 0;
    int thread = -1;         ///< the running one
    std::uint32_t time = 1;  ///< barriers of the block so far
    std::uint32_t launch = 0, block = 0;
    std::vector<std::uint32_t> warp_time;
    Region::Touch now;                ///< an access by the running thread
    boost::context::fiber scheduler;  ///< which waits for the thread
    std::exception_ptr error;
};

inline Kernel kernel;

// Of a stamp, which says which block of which launch used an element last. Two are no blocks.
constexpr std::uint32_t launches = 1 << 12, blocks_of_stamp = 1 << 20;
constexpr std::uint32_t several = blocks_of_stamp - 1, by_atomics = several - 1;

inline Thread& thread_of(int t) {
    return kernel.threads[static_cast<std::size_t>(t)];
}

/// Gives the launch a number. When none is left, all elements forget which launches used them.
void begin_launch();
// [messages]
std::string line(const Place& place);
/// The index of element `i` in a grid of the size `among`, where x varies fastest.
dim3 position(unsigned i, const dim3& among);
/// The index of a thread or block, as its kernel knows it.
std::string to_string(const dim3& i, const dim3& among);
std::string to_string(int thread);
[[noreturn]] void stop(int thread, const std::string& what, const Place& place);
// [counts]
using cuda::detail::counting;  // whether the next four are to be called

void count_launch(Index blocks, Index threads_of_block);
void count_access(const Region& region, const Use& use, const Place& place);
void count_barrier();
/// Adds up the requests of a block that has ended.
void count_block();

}  // namespace abh::emulator
