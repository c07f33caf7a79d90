#include "lib/cuda/emulated/emulator.cuh"

#include <algorithm>
#include <bit>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <random>

#include "lib/cuda/counts.hpp"
#include "lib/cuda/runtime.hpp"
#include "lib/eigen.hpp"

namespace abh::emulator {
// [threads]
namespace {

namespace context = boost::context;

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
    context::fiber fiber;                  ///< that it waits in
    std::array<std::uint64_t, 2> given{};  ///< to the others of its warp, used in turn
    int exchanges = 0;
    std::map<Place, int> visits;  ///< of each access, while counting
    std::vector<Copy> copies = {};
    int group = 0;                            ///< of the copies that are begun next
    std::array<Registers, 2> registers = {};  ///< given to the others of its warp, used in turn
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
    Region::Touch now;         ///< an access by the running thread
    context::fiber scheduler;  ///< which waits for the thread
    std::exception_ptr error;
};

Kernel kernel;
std::mt19937_64 shuffler(1);

// Of a stamp, which says which block of which launch used an element last. Two are no blocks.
constexpr std::uint32_t launches = 1 << 12, blocks_of_stamp = 1 << 20;
constexpr std::uint32_t several = blocks_of_stamp - 1, by_atomics = several - 1;

Thread& thread_of(int t) {
    return kernel.threads[static_cast<std::size_t>(t)];
}

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
// [state: resume]
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
// [counts]
/// An access by one thread. Those with the same warp, place and visit are one request.
struct Access {
    int warp;
    Place place;
    int visit;
    bool shared;
    const void* region;
    std::int64_t unit;  ///< sector, or word of shared memory

    auto operator<=>(const Access&) const = default;
};

using cuda::detail::counting, cuda::detail::counts;
cuda::KernelCount* count = nullptr;  // of the running kernel
std::vector<Access> accesses;        // of the running block

void note(const Region& region, std::int64_t at, std::size_t size, const Place& place) {
    const bool shared = region.element_bytes > 0;
    accesses.push_back({kernel.thread / 32, place, thread_of(kernel.thread).visits[place]++, shared,
                        &region, at / (shared ? 4 : 32)});
    if (!shared) count->bytes += static_cast<Index>(size);
}

/// Adds up the block's requests.
void add_block() {
    std::sort(accesses.begin(), accesses.end());
    accesses.erase(std::unique(accesses.begin(), accesses.end()), accesses.end());
    const auto same_request = [](const Access& a, const Access& b) {
        return a.warp == b.warp && a.place == b.place && a.visit == b.visit && a.shared == b.shared;
    };
    for (auto first = accesses.begin(); first != accesses.end();) {
        auto last = first;
        std::array<Index, 32> words_of_bank{};
        for (; last != accesses.end() && same_request(*first, *last); ++last)
            ++words_of_bank[static_cast<std::size_t>(last->unit % 32)];
        if (first->shared) {
            ++count->shared_requests;
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
// [messages]
std::string line(const Place& place) {
    return fmt::format("{}:{}", std::filesystem::path(place.file).filename().string(), place.line);
}

/// The index of element `i` in a grid of the size `among`, where x varies fastest.
dim3 position(unsigned i, const dim3& among) {
    return {i % among.x, i / among.x % among.y, i / (among.x * among.y)};
}

/// The index of a thread or block, as its kernel knows it.
std::string to_string(const dim3& i, const dim3& among) {
    return among.y == 1 && among.z == 1 ? fmt::format("{}", i.x)
                                        : fmt::format("({}, {}, {})", i.x, i.y, i.z);
}

std::string to_string(int thread) {
    return to_string(thread_of(thread).index, blockDim);
}

[[noreturn]] void stop(int thread, const std::string& what, const Place& place) {
    throw std::runtime_error(fmt::format("cuda emulator: {}: thread {} of block {} {} ({})",
                                         kernel.name, to_string(thread),
                                         to_string(blockIdx, gridDim), what, line(place)));
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
    if (counting) ++count->barriers;
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
/// Gives the launch a number. When none is left, all elements forget which launches used them.
void begin_launch();

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
    if (counting) {
        const auto known = std::ranges::find(counts, name, &cuda::KernelCount::name);
        count =
            known == counts.end() ? &counts.emplace_back(cuda::KernelCount{.name = name}) : &*known;
        ++count->launches;
        count->blocks += n_blocks;
        count->threads += n_blocks * n;
    }
    std::vector<unsigned> order(static_cast<std::size_t>(n_blocks));
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::shuffle(order, shuffler);
    try {
        for (const unsigned b : order) {
            kernel.block = b % by_atomics;
            blockIdx = position(b, blocks);
            run_block();
            if (counting) add_block();
        }
    } catch (...) {
        accesses.clear();
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

}  // namespace

void multiply(int together, float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              const Place& place) {
    const int first = kernel.thread / 32 * 32, lane = kernel.thread % 32;
    if (static_cast<std::size_t>(first) + 32 > kernel.threads.size())
        fail("multiplies matrices in a warp that has fewer than 32 threads", place);
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
// [checks]
void fail(const std::string& what, const Place& place) {
    stop(kernel.thread, what, place);
}

namespace {

/// Whether another thread made the access `before`, and no barrier separates it from `now`.
bool races(const Region::Touch& before, const Region::Touch& now) {
    if (before.time != now.time || before.thread == now.thread) return false;
    return before.warp != now.warp || before.warp_time == now.warp_time;
}
// [checks: accesses]
/// Notes that this thread reads an element of shared memory. Fails if another one writes it.
void read_element(Region::Touches& touch, const Place& place) {
    Region::Touch now = kernel.now;
    if (races(touch.write, now))
        fail("reads what thread " + to_string(touch.write.thread) +
                 " writes, with no barrier in between",
             place);
    if (touch.read.time == now.time) {
        if (touch.read.thread != now.thread) now.thread = -2;
        if (touch.read.warp != now.warp) now.warp = -2;
    }
    touch.read = now;
}

void write_element(Region::Touches& touch, const Place& place) {
    const Region::Touch now = kernel.now;
    if (races(touch.write, now))
        fail("writes what thread " + to_string(touch.write.thread) + " writes too", place);
    if (races(touch.read, now))
        fail("writes what " +
                 (touch.read.thread < 0 ? "others" : "thread " + to_string(touch.read.thread)) +
                 " may still read, with no barrier in between",
             place);
    touch = {.write = now, .read = {}};
}

/// Calls `f` for each element of `elements` that is used. Elements have `size` bytes, a power of
/// two, and a division would take longer than all the rest.
template <class Elements, class F>
void for_used(Elements& elements, std::size_t size, const Use& use, const F& f) {
    const int shift = std::countr_zero(size);
    const auto at = static_cast<std::size_t>(use.at);
    for (std::size_t i = at >> shift; i << shift < at + use.size; ++i) f(elements[i]);
}

void touch_elements(Region& region, const Use& use, const Place& place) {
    for_used(region.touches, region.element_bytes, use, [&](Region::Touches& touch) {
        use.write ? write_element(touch, place) : read_element(touch, place);
    });
}
// [checks: blocks]
/// Says that `block` of the running kernel used an element. No two launches that an element still
/// knows have the same number: `begin_launch`.
std::uint32_t stamp(std::uint32_t block) {
    return kernel.launch * blocks_of_stamp + block;
}

/// Whether another block of this launch left this stamp.
bool by_another(std::uint32_t before) {
    return before / blocks_of_stamp == kernel.launch && before != stamp(kernel.block);
}

std::string block_of(std::uint32_t stamp) {
    const std::uint32_t block = stamp % blocks_of_stamp;
    if (block == by_atomics) return "an atomic function";
    return block == several ? "others" : "block " + to_string(position(block, gridDim), gridDim);
}

std::array<Place, 1 << 16> places;  // that have used device memory, by `number_of`

/// A number to find a line by. Two lines of a file never share one.
std::uint16_t number_of(const Place& place) {
    const auto file = reinterpret_cast<std::uintptr_t>(place.file);
    const auto number = static_cast<std::uint16_t>(place.line + 8191 * file);
    places[number] = place;
    return number;
}

/// Notes that this block uses an element of device memory. Blocks run in any order, or at the same
/// time, so nothing orders what two of them do to one element.
void use_element(Region::Blocks& element, const Use& use, std::uint16_t at, const Place& place) {
    const bool added = use.atomic && element.wrote == stamp(by_atomics);
    if (by_another(element.wrote) && !added)
        fail(fmt::format("{} what {} writes at {}, in the same launch",
                         use.write ? "writes" : "reads", block_of(element.wrote),
                         line(places[element.wrote_at])),
             place);
    if ((use.write || use.atomic) && by_another(element.read))
        fail(fmt::format("writes what {} may still read at {}, in the same launch",
                         block_of(element.read), line(places[element.read_at])),
             place);
    if (use.write) {
        element.wrote = stamp(use.atomic ? by_atomics : kernel.block);
        element.wrote_at = at;
    } else if (by_another(element.read)) {
        element.read = stamp(several);
    } else if (!use.atomic) {
        element.read = stamp(kernel.block);
        element.read_at = at;
    }
}

void use_elements(Region& region, const Use& use, const Place& place) {
    if (region.unit_bytes == 0 || region.unit_bytes > use.size) {  // finer than any use before
        region.unit_bytes = std::min<std::size_t>(use.size, 4);
        region.blocks.assign(region.bytes.size() / region.unit_bytes + 1, {});
    }
    const std::uint16_t number = number_of(place);
    for_used(region.blocks, region.unit_bytes, use,
             [&](Region::Blocks& element) { use_element(element, use, number, place); });
}

/// Whether all `size` bytes are 1. Most often, there are four.
bool all_written(const std::uint8_t* bytes, std::size_t size) {
    if (size == 4) return std::memcmp(bytes, "\1\1\1\1", 4) == 0;
    return std::find(bytes, bytes + size, 0) == bytes + size;
}

}  // namespace
// [checks: all of an access]
std::byte* access(Region& region, const Use& use, const Place& place) {
    const auto n = static_cast<std::int64_t>(use.size),
               all = static_cast<std::int64_t>(region.bytes.size());
    if (use.at < 0 || use.at + n > all)
        fail(fmt::format("{} element {} of {} memory that has {}", use.write ? "writes" : "reads",
                         use.at >= 0 ? use.at / n : (use.at - n + 1) / n, region.kind, all / n),
             place);
    if ((static_cast<std::size_t>(use.at) & (use.alignment - 1)) != 0)
        fail(fmt::format("{} {} bytes at offset {} of {} memory, which is no multiple of {}",
                         use.write ? "writes" : "reads", n, use.at, region.kind, use.alignment),
             place);
    std::uint8_t* const written = region.written.data() + use.at;
    if (!use.write && !all_written(written, use.size))
        fail(fmt::format("reads element {} of {} memory, which nothing wrote", use.at / n,
                         region.kind),
             place);
    if (counting) note(region, use.at, use.size, place);
    region.used = true;
    if (region.element_bytes == 0)
        use_elements(region, use, place);
    else if (!use.atomic)
        touch_elements(region, use, place);
    if (use.write) std::memset(written, 1, use.size);
    return region.bytes.data() + use.at;
}
// [asynchronous copies]
void begin_copy(Region* to, std::int64_t at, Region* from, std::int64_t from_at, std::size_t bytes,
                const Place& place) {
    if (bytes != 4 && bytes != 8 && bytes != 16)
        fail(fmt::format("copies {} bytes at once, expected 4, 8 or 16", bytes), place);
    if (!to || to->element_bytes == 0 || !from || from->element_bytes > 0)
        fail("copies asynchronously, but not from device memory to shared memory", place);
    Thread& thread = thread_of(kernel.thread);
    const Copy copy{
        to,           from, {at, bytes, bytes, true, false}, {from_at, bytes, bytes, false, false},
        thread.group, place};
    access(*from, copy.here, place);
    access(*to, copy.there, place);
    std::memset(to->written.data() + at, 0, bytes);  // until it has arrived
    thread.copies.push_back(copy);
}

void end_group() {
    ++thread_of(kernel.thread).group;
}

void wait_for_copies(int groups) {
    Thread& thread = thread_of(kernel.thread);
    std::erase_if(thread.copies, [&](const Copy& copy) {
        if (copy.group >= thread.group - groups) return false;
        touch_elements(*copy.to, copy.there, copy.place);  // not counted again
        std::memset(copy.to->written.data() + copy.there.at, 1, copy.there.size);
        std::memcpy(copy.to->bytes.data() + copy.there.at, copy.from->bytes.data() + copy.here.at,
                    copy.here.size);
        return true;
    });
}
// [memory]
namespace {

/// Device addresses, which cannot be read or written directly: the elements are elsewhere, and only
/// kernels, products and copies find them. No address is used twice, and gaps separate the blocks.
constexpr std::uintptr_t first_address = std::uintptr_t{1} << 54;  // above the system's
std::uintptr_t next_address = first_address;
std::mutex to_blocks;

std::map<std::uintptr_t, Region>& blocks() {
    static auto* const all = new std::map<std::uintptr_t, Region>;  // outlives every tensor
    return *all;
}

std::uintptr_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

void begin_launch() {
    kernel.launch = kernel.launch % (launches - 1) + 1;
    if (kernel.launch > 1) return;
    const std::lock_guard lock(to_blocks);
    for (auto& [address, region] : blocks()) std::ranges::fill(region.blocks, Region::Blocks{});
}

std::pair<Region*, std::size_t> find(const void* address) {
    const std::lock_guard lock(to_blocks);
    auto block = blocks().upper_bound(number(address));
    if (block != blocks().begin()) {
        --block;
        const std::size_t offset = number(address) - block->first;
        if (offset <= block->second.bytes.size()) return {&block->second, offset};
    }
    throw std::runtime_error("cuda emulator: an address is not in device memory");
}

}  // namespace abh::emulator
// [runtime]
namespace abh::cuda {

class EmulatedDevice final : public Device {
public:
    void open() override;
    std::string name() override;
    bool emulated() const override { return true; }
    void* take(std::size_t bytes) override;
    void give(void* block) noexcept override;
    void copy_bytes(void* to, const void* from, std::size_t bytes) override;
    void send(void* to, const void* from, std::size_t bytes) override;
    void synchronize() override;
    bool multiply(const Product& p, Index batch, const Epilogue& e) override;
};

Device& device() {
    static Device* const one = new EmulatedDevice;  // never deleted, as tensors may end later
    return *one;
}

void EmulatedDevice::open() {
    if (const char* seed = std::getenv("ABH_EMULATOR_SEED"))
        emulator::set_seed(std::strtoull(seed, nullptr, 10));
}

std::string EmulatedDevice::name() {
    return "emulated on the processor";
}

void* EmulatedDevice::take(std::size_t bytes) {
    constexpr std::size_t gap = 256;
    const std::lock_guard lock(emulator::to_blocks);
    const std::uintptr_t address = emulator::next_address;
    emulator::next_address += (bytes + gap - 1) / gap * gap + gap;
    emulator::blocks().try_emplace(address, "device", bytes);
    return reinterpret_cast<void*>(address);
}

void EmulatedDevice::give(void* block) noexcept {
    const std::lock_guard lock(emulator::to_blocks);
    emulator::blocks().erase(emulator::number(block));
}

void EmulatedDevice::copy_bytes(void* to, const void* from, std::size_t bytes) {
    const auto region_of = [](const void* address) {
        return emulator::number(address) < emulator::first_address
                   ? std::pair<emulator::Region*, std::size_t>()
                   : emulator::find(address);
    };
    const auto [source, at] = region_of(from);
    const auto [target, there] = region_of(to);
    std::memcpy(target ? target->bytes.data() + there : to,
                source ? source->bytes.data() + at : from, bytes);
    if (target && source)
        std::memcpy(target->written.data() + there, source->written.data() + at, bytes);
    else if (target)
        std::memset(target->written.data() + there, 1, bytes);
}

void EmulatedDevice::send(void* to, const void* from, std::size_t bytes) {
    copy_bytes(to, from, bytes);
}

void EmulatedDevice::synchronize() {}
// [runtime: product]
/// Eigen takes the place of the library.
bool EmulatedDevice::multiply(const Product& p, Index batch, const Epilogue& e) {
    if (e.sums_of_a && sizeof(Real) == 8) return false;  // as the library may: this tests it
    const auto numbers = [](const Real* address, Index count, bool read) {
        const auto [region, at] = emulator::find(address);
        const auto first = region->written.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last = first + count * static_cast<Index>(sizeof(Real));
        if (last > region->written.end() || (read && std::find(first, last, 0) != last))
            throw std::runtime_error("cuda emulator: product: unwritten or out-of-range elements");
        if (!read) std::fill(first, last, std::uint8_t{1});
        return reinterpret_cast<Real*>(region->bytes.data() + at);
    };
    const Real* const a = numbers(p.a.data, batch * p.m * p.k, true);
    const Real* const b = numbers(p.b.data, batch * p.k * p.n, true);
    if (p.add) numbers(p.c, batch * p.m * p.n, true);
    const Real* const bias = e.bias ? numbers(e.bias, p.n, true) : nullptr;
    Real* const c = numbers(p.c, batch * p.m * p.n, false);
    Real* const sums = e.sums_of_a ? numbers(e.sums_of_a, p.m, false) : nullptr;
    const auto matrix = [](const Strided& of, const Real* at, Index rows, Index columns) {
        using Stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
        return Eigen::Map<const ConstMatrixMap::PlainObject, 0, Stride>(at, rows, columns,
                                                                        Stride(of.row, of.column));
    };
    for (Index i = 0; i < batch; ++i) {
        MatrixMap C(c + i * p.m * p.n, p.m, p.n);
        if (!p.add) C.setZero();
        C.noalias() += p.scale * matrix(p.a, a + i * p.m * p.k, p.m, p.k) *
                       matrix(p.b, b + i * p.k * p.n, p.k, p.n);
        if (bias) C.rowwise() += ConstMatrixMap(bias, 1, p.n).row(0);
        if (e.relu) C = (C.array() < 0).select(Real(0), C);
    }
    if (sums) MatrixMap(sums, p.m, 1) = matrix(p.a, a, p.m, p.k).rowwise().sum();
    return true;
}

}  // namespace abh::cuda
