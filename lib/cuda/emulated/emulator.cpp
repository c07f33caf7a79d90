#include "lib/cuda/emulated/emulator.cuh"

#include <algorithm>
#include <bit>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <random>

#include "lib/cuda/emulated/running_kernel.cuh"

namespace abh::emulator {
// [messages]
std::string line(const Place& place) {
    return fmt::format("{}:{}", std::filesystem::path(place.file).filename().string(), place.line);
}

dim3 position(unsigned i, const dim3& among) {
    return {i % among.x, i / among.x % among.y, i / (among.x * among.y)};
}

std::string to_string(const dim3& i, const dim3& among) {
    return among.y == 1 && among.z == 1 ? fmt::format("{}", i.x)
                                        : fmt::format("({}, {}, {})", i.x, i.y, i.z);
}

std::string to_string(int thread) {
    return to_string(thread_of(thread).index, blockDim);
}

void stop(int thread, const std::string& what, const Place& place) {
    throw std::runtime_error(fmt::format("cuda emulator: {}: thread {} of block {} {} ({})",
                                         kernel.name, to_string(thread),
                                         to_string(blockIdx, gridDim), what, line(place)));
}

void fail(const std::string& what, const Place& place) {
    stop(kernel.thread, what, place);
}
// [fibers]
namespace {

namespace context = boost::context;

std::mt19937_64 shuffler(1);

/// Makes `t` the running thread.
void enter(int t) {
    const int warp = t / 32;
    kernel.thread = t;
    kernel.now = {t, warp, kernel.time, kernel.warp_time[static_cast<std::size_t>(warp)]};
    threadIdx = thread_of(t).index;
}

/// The work of a fiber: runs threads until one must wait, and continues that one when resumed.
context::fiber run_threads(context::fiber&& scheduler) {
    kernel.scheduler = std::move(scheduler);
    while (kernel.begun < kernel.order.size() && !kernel.error) {
        enter(kernel.order[kernel.begun++]);
        try {
            (*kernel.body)();
        } catch (const context::detail::forced_unwind&) {
            throw;  // the fiber is being abandoned
        } catch (...) {
            kernel.error = std::current_exception();
        }
        thread_of(kernel.thread).waits = Waits::done;
    }
    return std::move(kernel.scheduler);
}

/// Resumes a fiber until its thread must wait, or until no thread is left to begin.
void resume(context::fiber fiber) {
    fiber = std::move(fiber).resume();
    if (kernel.error) std::rethrow_exception(kernel.error);
    thread_of(kernel.thread).fiber = std::move(fiber);
}

void begin_threads() {
    // not whole pages, or else the ends of all stacks would compete for the same cache lines
    static context::pooled_fixedsize_stack stacks((112 << 10) + 320);
    resume({std::allocator_arg, stacks, run_threads});
}

void go_on(int t) {
    Thread& thread = thread_of(t);
    thread.waits = Waits::no;
    enter(t);
    resume(std::move(thread.fiber));
}
// [release]
/// Lets a warp, threads `first` to `last - 1`, go on unless one of them waits for its block.
/// Throws if only some threads of the warp wait, or not all of them in the same call.
void release_warp(int first, int last, std::vector<int>& released) {
    std::vector<int> waiting;
    for (int t = first; t < last; ++t) {
        if (thread_of(t).waits == Waits::for_block) return;
        if (thread_of(t).waits != Waits::done) waiting.push_back(t);
    }
    if (waiting.empty()) return;
    const Thread& one = thread_of(waiting.front());
    for (const int t : waiting) {
        const Place& place = thread_of(t).place;
        if (static_cast<int>(waiting.size()) != last - first)
            stop(t, "waits for its warp, but some of its threads have ended", place);
        if (place.line != one.place.line || thread_of(t).waits != one.waits)
            stop(t,
                 "waits for its warp, but thread " + to_string(waiting.front()) +
                     " waits in another call at " + line(one.place),
                 place);
    }
    // an exchange of values is no barrier: what was written before may not be visible yet
    if (one.waits == Waits::for_warp) ++kernel.warp_time[static_cast<std::size_t>(first / 32)];
    released.insert(released.end(), waiting.begin(), waiting.end());
}

/// Lets all threads go on if they wait at the same barrier. If they do not, none can ever go on,
/// which is an error in the kernel. @param first  a thread that waits for its block
void release_block(int first, std::vector<int>& released) {
    const Place& place = thread_of(first).place;
    for (int t = 0; t < static_cast<int>(kernel.threads.size()); ++t) {
        const Thread& other = thread_of(t);
        if (other.waits != Waits::for_block || other.place.line != place.line)
            stop(first,
                 "waits for its block, but thread " + to_string(t) +
                     (other.waits == Waits::done ? " has ended" : " waits at " + line(other.place)),
                 place);
        released.push_back(t);
    }
    ++kernel.time;
    if (counting) count_barrier();
}

/// The threads that go on next, in random order; none if all have ended.
std::vector<int> release() {
    std::vector<int> released;
    const int n = static_cast<int>(kernel.threads.size());
    for (int t = 0; t < n; t += 32) release_warp(t, std::min(t + 32, n), released);
    const auto waiting = std::ranges::find(kernel.threads, Waits::for_block, &Thread::waits);
    if (released.empty() && waiting != kernel.threads.end())
        release_block(static_cast<int>(waiting - kernel.threads.begin()), released);
    std::ranges::shuffle(released, shuffler);
    return released;
}
// [blocks]
void run_block() {
    for (Region* region : shared_regions)
        if (std::exchange(region->used, false)) region->resize(region->bytes.size());
    for (Thread& thread : kernel.threads) {
        thread.exchanges = thread.group = 0;
        thread.copies.clear();
    }
    std::ranges::fill(kernel.warp_time, 1);
    kernel.time = 1;
    kernel.begun = 0;
    std::ranges::shuffle(kernel.order, shuffler);
    while (kernel.begun < kernel.order.size()) begin_threads();
    for (auto released = release(); !released.empty(); released = release())
        for (const int t : released) go_on(t);
}

}  // namespace
// [run]
void set_seed(std::uint64_t seed) {
    shuffler.seed(seed);
}

void run(const char* name, dim3 blocks, dim3 threads, std::size_t shared_bytes,
         const std::function<void()>& body) {
    const Index n = Index{threads.x} * threads.y * threads.z;
    const Index n_blocks = Index{blocks.x} * blocks.y * blocks.z;
    if (n_blocks == 0) return;
    require(n >= 1 && n <= 1024 && threads.z <= 64,
            "cuda emulator: {}: a block of ({}, {}, {}) threads, expected 1 to 1024, z at most 64",
            name, threads.x, threads.y, threads.z);
    require(blocks.x <= 0x7fffffff && blocks.y <= 65535 && blocks.z <= 65535,
            "cuda emulator: {}: a grid of ({}, {}, {}) blocks, x at most 2147483647, y and z 65535",
            name, blocks.x, blocks.y, blocks.z);
    require(shared_bytes <= 99 << 10, "cuda emulator: {}: {} bytes of shared memory, at most {}",
            name, shared_bytes, 99 << 10);
    static std::mutex one_at_a_time;  // even if several threads of the processor launch
    const std::lock_guard lock(one_at_a_time);
    begin_launch();
    gridDim = blocks;
    blockDim = threads;
    kernel.name = name;
    kernel.body = &body;
    kernel.error = nullptr;
    kernel.threads.resize(static_cast<std::size_t>(n));
    kernel.order.resize(static_cast<std::size_t>(n));
    kernel.warp_time.resize(static_cast<std::size_t>((n + 31) / 32));
    std::iota(kernel.order.begin(), kernel.order.end(), 0);
    for (unsigned i = 0; Thread & thread : kernel.threads) thread.index = position(i++, threads);
    dynamic_region.resize(shared_bytes);
    if (counting) count_launch(n_blocks, n);
    std::vector<unsigned> order(static_cast<std::size_t>(n_blocks));
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::shuffle(order, shuffler);
    try {
        for (const unsigned b : order) {
            kernel.block = b % by_atomics;
            blockIdx = position(b, blocks);
            run_block();
            if (counting) count_block();
        }
    } catch (...) {
        kernel.threads.clear();  // abandons those that wait
        throw;
    }
}
// [waiting]
void wait(Waits what, const Place& place) {
    Thread& thread = thread_of(kernel.thread);
    thread.waits = what;
    thread.place = place;
    kernel.scheduler = std::move(kernel.scheduler).resume();
}

/// Two places are used in turn, so that no value is overwritten before all have taken it.
std::uint64_t exchange(std::uint64_t value, int other, const Place& place) {
    const int self = kernel.thread;
    Thread& thread = thread_of(self);
    const auto turn = static_cast<std::size_t>(thread.exchanges++ % 2);
    thread.given[turn] = value;
    wait(Waits::for_exchange, place);
    const int from = self / 32 * 32 + other;
    if (other < 0 || other >= 32 || static_cast<std::size_t>(from) >= kernel.threads.size())
        fail(fmt::format("asks lane {}, which its warp does not have, for a value", other), place);
    return thread_of(from).given[turn];
}
// [tensor cores]
namespace {

/// Number `i` of a register: the only one, or a half. Bits that a tensor core ignores are 0.
float number(std::uint32_t bits, int i, int together) {
    if (together == 1) return std::bit_cast<float>(bits & 0xffffe000u);
    return std::bit_cast<float>(i == 0 ? bits << 16 : bits & 0xffff0000u);
}

/// The first thread of the running thread's warp, which must be whole to do this.
int whole_warp(const char* what, const Place& place) {
    const int first = kernel.thread / 32 * 32;
    if (static_cast<std::size_t>(first) + 32 > kernel.threads.size())
        fail(fmt::format("{} matrices in a warp that has fewer than 32 threads", what), place);
    return first;
}

}  // namespace

void load_matrices(std::uint32_t (&words)[4], Region* region, std::int64_t at, bool turned,
                   const Place& place) {
    const int first = whole_warp("loads", place), group = kernel.thread % 32 / 4,
              in_group = kernel.thread % 4;
    if (!region || region->element_bytes == 0)
        fail("loads matrices, but not from shared memory", place);
    if (at % 16 != 0)
        fail(fmt::format("loads a row at offset {}, which is no multiple of 16", at), place);
    Thread& thread = thread_of(kernel.thread);
    const auto turn = static_cast<std::size_t>(thread.exchanges++ % 2);
    thread.rows[turn] = {region, at};
    wait(Waits::for_matrices, place);
    for (int i = 0; i < 4; ++i) {
        const auto row = [&](int r) { return thread_of(first + 8 * i + r).rows[turn]; };
        const auto [own, from] = row(group);
        const std::byte* word = access(*own, {from + 4 * in_group, 4, 4, false, false, i}, place);
        std::memcpy(&words[i], word, 4);
        for (int half = 0; turned && half < 2; ++half) {  // what other lanes have checked
            const auto [other, begin] = row(2 * in_group + half);
            std::memcpy(reinterpret_cast<std::byte*>(&words[i]) + 2 * half,
                        other->bytes.data() + begin + 2 * group, 2);
        }
    }
}

void multiply(int together, float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              const Place& place) {
    const int first = whole_warp("multiplies", place), lane = kernel.thread % 32;
    Thread& thread = thread_of(kernel.thread);
    const auto turn = static_cast<std::size_t>(thread.exchanges++ % 2);
    thread.registers[turn] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    wait(together == 1 ? Waits::for_tf32 : Waits::for_bf16, place);
    const auto registers_of = [&](int group, int in_group) -> const Registers& {
        return thread_of(first + 4 * group + in_group).registers[turn];
    };
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
        for (int r = 0; r < 8; ++r) {  // registers along k
            const auto half = static_cast<std::size_t>(r / 4);
            const std::uint32_t left =
                registers_of(row % 8, r % 4)[static_cast<std::size_t>(row / 8) + 2 * half];
            const std::uint32_t right = registers_of(column, r % 4)[4 + half];
            for (int j = 0; j < together; ++j)
                c[i] += number(left, j, together) * number(right, j, together);
        }
    }
}

}  // namespace abh::emulator
