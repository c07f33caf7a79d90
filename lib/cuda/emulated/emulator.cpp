#include "lib/cuda/emulated/emulator.cuh"

#include <alloca.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>

#include "lib/cuda/counts.hpp"
#include "lib/cuda/runtime.hpp"
#include "lib/eigen.hpp"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_UNPOISON_MEMORY_REGION(begin, size)
#endif

namespace abh::emulator {
// [threads]
namespace {

namespace context = boost::context;

enum class Waits { no, for_block, for_warp, for_exchange, done };

/// A thread of the block that runs.
struct Thread {
    dim3 index;
    Waits waits = Waits::no;
    Place place;                           ///< where it waits
    std::array<std::uint64_t, 2> given{};  ///< to the others of its warp, in turns
    int exchanges = 0;
    std::map<std::pair<const void*, unsigned>, int> visits;  ///< of each access, while counting
};

/// A stack on which threads run: one after another, as long as none must wait.
struct Worker {
    context::stack_context stack{};
    context::fiber fiber, scheduler;
    int thread = -1;  ///< which one it is in, while that one waits
};
// [state]
/// The kernel that runs.
struct Kernel {
    const char* name;
    const std::function<void()>* body;
    std::vector<Thread> threads;
    std::vector<int> order;  ///< in which the threads begin
    std::size_t begun = 0;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Worker*> idle;
    Worker* worker = nullptr;  ///< that runs
    int thread = -1;           ///< that runs
    std::uint64_t time = 1;    ///< barriers of the block so far
    std::vector<std::uint64_t> warp_time;
    std::exception_ptr error;
};

Kernel kernel;
std::mt19937_64 shuffler(1);
std::vector<Region*> shared_regions;
Region dynamic_shared("shared", 0);

/// AddressSanitizer does not know this stack, and would go on guarding what an error has left.
void forget_frames([[maybe_unused]] const Worker& worker) {
    ASAN_UNPOISON_MEMORY_REGION(static_cast<char*>(worker.stack.sp) - worker.stack.size,
                                worker.stack.size);
}

/// Runs threads until one must wait; goes on with that one when it is resumed.
context::fiber work(Worker& worker, context::fiber&& scheduler) {
    worker.scheduler = std::move(scheduler);
    for (;;) {
        while (kernel.begun < kernel.order.size() && !kernel.error) {
            const int t = kernel.order[kernel.begun++];
            worker.thread = kernel.thread = t;
            Thread& thread = kernel.threads[static_cast<std::size_t>(t)];
            threadIdx = thread.index;
            try {
                (*kernel.body)();
            } catch (const context::detail::forced_unwind&) {
                forget_frames(worker);
                throw;  // the fiber ends
            } catch (...) {
                kernel.error = std::current_exception();
                forget_frames(worker);
            }
            thread.waits = Waits::done;
        }
        worker.thread = -1;
        kernel.idle.push_back(&worker);
        worker.scheduler = std::move(worker.scheduler).resume();
    }
}
// [state: resume]
void resume(Worker& worker) {
    kernel.worker = &worker;
    kernel.thread = worker.thread;
    if (worker.thread >= 0)
        threadIdx = kernel.threads[static_cast<std::size_t>(worker.thread)].index;
    worker.fiber = std::move(worker.fiber).resume();
    kernel.thread = -1;
}

Worker& idle_worker() {
    if (kernel.idle.empty()) {
        context::fixedsize_stack stacks(128 << 10);
        auto worker = std::make_unique<Worker>();
        Worker* const w = worker.get();
        // all stacks begin at a page; so that they do not want the same lines of the cache, each
        // goes on a little further down
        const std::size_t further = kernel.workers.size() % 32 * 320;
        w->stack = stacks.allocate();
        w->fiber = context::fiber(std::allocator_arg,
                                  context::preallocated(w->stack.sp, w->stack.size, w->stack),
                                  stacks, [w, further](context::fiber&& scheduler) {
                                      void* const room = alloca(further + 16);
                                      asm volatile("" : : "r"(room) : "memory");  // keep it
                                      return work(*w, std::move(scheduler));
                                  });
        kernel.workers.push_back(std::move(worker));
        return *w;
    }
    Worker& worker = *kernel.idle.back();
    kernel.idle.pop_back();
    return worker;
}

void wait(Waits what, const Place& place) {
    Thread& thread = kernel.threads[static_cast<std::size_t>(kernel.thread)];
    thread.waits = what;
    thread.place = place;
    Worker& worker = *kernel.worker;
    worker.scheduler = std::move(worker.scheduler).resume();
}
// [counts]
/// An access by one thread; those that agree in warp, place and visit are one request.
struct Access {
    int warp;
    std::pair<const void*, unsigned> place;  ///< function and position in it
    int visit;
    bool shared;
    const void* region;
    std::int64_t unit;  ///< sector, or word of shared memory

    auto operator<=>(const Access&) const = default;
};

bool counting = false;
std::vector<cuda::KernelCount> counts;
cuda::KernelCount* count = nullptr;  // of the kernel that runs
std::vector<Access> accesses;        // of the block that runs

void note(const Region& region, std::int64_t at, std::size_t size, const Place& place) {
    Thread& thread = kernel.threads[static_cast<std::size_t>(kernel.thread)];
    const std::pair<const void*, unsigned> where(place.function_name(),
                                                 place.line() << 8 | (place.column() & 0xff));
    const bool shared = &region == &dynamic_shared || !region.touches.empty();
    accesses.push_back({kernel.thread / 32, where, thread.visits[where]++, shared, &region,
                        at / (shared ? 4 : 32)});
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
    return fmt::format("{}:{}", std::filesystem::path(place.file_name()).filename().string(),
                       place.line());
}

/// A thread's number as a kernel knows it.
std::string to_string(int thread) {
    const dim3 i = kernel.threads[static_cast<std::size_t>(thread)].index;
    return blockDim.y == 1 && blockDim.z == 1 ? fmt::format("{}", i.x)
                                              : fmt::format("({}, {}, {})", i.x, i.y, i.z);
}

std::string block_name() {
    return gridDim.y == 1 && gridDim.z == 1
               ? fmt::format("{}", blockIdx.x)
               : fmt::format("({}, {}, {})", blockIdx.x, blockIdx.y, blockIdx.z);
}

[[noreturn]] void stop(int thread, const std::string& what, const Place& place) {
    throw std::runtime_error(fmt::format("cuda emulator: {}: thread {} of block {} {} ({})",
                                         kernel.name, to_string(thread), block_name(), what,
                                         line(place)));
}
// [release]
/// Lets those of threads `first` to `last - 1` that live go on, if all of them wait for their warp.
bool release_warp(std::size_t first, std::size_t last, std::vector<int>& released) {
    std::vector<int> waiting;
    for (std::size_t t = first; t < last; ++t) {
        const Thread& thread = kernel.threads[t];
        if (thread.waits == Waits::for_block || thread.waits == Waits::no) return false;
        if (thread.waits != Waits::done) waiting.push_back(static_cast<int>(t));
    }
    for (const int t : waiting) {
        const Thread &a = kernel.threads[static_cast<std::size_t>(waiting.front())],
                     &b = kernel.threads[static_cast<std::size_t>(t)];
        if (a.place.line() != b.place.line() || waiting.size() != last - first)
            stop(t,
                 waiting.size() != last - first
                     ? "waits for its warp, of which some threads have ended"
                     : "waits for its warp, whose thread " + to_string(waiting.front()) +
                           " waits at " + line(a.place),
                 b.place);
    }
    if (waiting.empty()) return false;
    // values that are exchanged say nothing of memory: what was written may not be there yet
    if (kernel.threads[static_cast<std::size_t>(waiting.front())].waits == Waits::for_warp)
        ++kernel.warp_time[first / 32];
    released.insert(released.end(), waiting.begin(), waiting.end());
    return true;
}

/// Lets all threads go on if all of them wait at the same barrier; that nobody can go on otherwise
/// is an error in the kernel.
void release_block(std::vector<int>& released) {
    const auto waiting = std::find_if(kernel.threads.begin(), kernel.threads.end(),
                                      [](const Thread& t) { return t.waits == Waits::for_block; });
    const int first = static_cast<int>(waiting - kernel.threads.begin());
    for (std::size_t t = 0; t < kernel.threads.size(); ++t) {
        const Thread& other = kernel.threads[t];
        if (other.waits == Waits::for_block && other.place.line() == waiting->place.line())
            continue;
        const std::string name = to_string(static_cast<int>(t));
        stop(first,
             "waits for its block, but thread " + name +
                 (other.waits == Waits::done ? " has ended" : " waits at " + line(other.place)),
             waiting->place);
    }
    ++kernel.time;
    if (counting) ++count->barriers;
    released.resize(kernel.threads.size());
    std::iota(released.begin(), released.end(), 0);
}

std::vector<int> release() {
    std::vector<int> released;
    for (std::size_t t = 0; t < kernel.threads.size(); t += 32)
        release_warp(t, std::min(t + 32, kernel.threads.size()), released);
    if (released.empty()) release_block(released);
    return released;
}
// [blocks]
void run_block() {
    for (Region* region : shared_regions) {
        std::fill(region->written.begin(), region->written.end(), std::uint8_t{0});
        std::fill(region->touches.begin(), region->touches.end(), Region::Touch{});
    }
    for (Thread& thread : kernel.threads) {
        thread.waits = Waits::no;
        thread.exchanges = 0;
    }
    std::fill(kernel.warp_time.begin(), kernel.warp_time.end(), 1);
    kernel.time = 1;
    kernel.begun = 0;
    std::shuffle(kernel.order.begin(), kernel.order.end(), shuffler);

    std::vector<Worker*> of_thread(kernel.threads.size(), nullptr);
    std::size_t done = 0;
    const auto go_on = [&](Worker& worker) {
        resume(worker);
        if (kernel.error) std::rethrow_exception(kernel.error);
        if (worker.thread >= 0) of_thread[static_cast<std::size_t>(worker.thread)] = &worker;
    };
    while (kernel.begun < kernel.order.size()) go_on(idle_worker());
    for (;;) {
        done = static_cast<std::size_t>(
            std::count_if(kernel.threads.begin(), kernel.threads.end(),
                          [](const Thread& t) { return t.waits == Waits::done; }));
        if (done == kernel.threads.size()) return;
        std::vector<int> released = release();
        std::shuffle(released.begin(), released.end(), shuffler);
        for (const int t : released) {
            kernel.threads[static_cast<std::size_t>(t)].waits = Waits::no;
            go_on(*of_thread[static_cast<std::size_t>(t)]);
        }
    }
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
    require(n >= 1 && n <= 1024, "cuda emulator: {}: {} threads in a block, possible are 1 to 1024",
            name, n);
    require(blocks.y <= 65535 && blocks.z <= 65535,
            "cuda emulator: {}: a grid of ({}, {}, {}) blocks; y and z may be 65535", name,
            blocks.x, blocks.y, blocks.z);
    require(shared_bytes <= 99 << 10, "cuda emulator: {}: {} bytes of shared memory, at most {}",
            name, shared_bytes, 99 << 10);
    static std::mutex one_at_a_time;  // whichever thread of the processor launches
    const std::lock_guard lock(one_at_a_time);
    gridDim = blocks;
    blockDim = threads;
    kernel.name = name;
    kernel.body = &body;
    kernel.error = nullptr;
    kernel.threads.resize(static_cast<std::size_t>(n));
    kernel.order.resize(static_cast<std::size_t>(n));
    kernel.warp_time.resize(static_cast<std::size_t>((n + 31) / 32));
    std::iota(kernel.order.begin(), kernel.order.end(), 0);
    for (Index t = 0; t < n; ++t) {
        const auto i = static_cast<unsigned>(t);
        kernel.threads[static_cast<std::size_t>(t)].index = {
            i % threads.x, i / threads.x % threads.y, i / (threads.x * threads.y)};
    }
    dynamic_shared.bytes.assign(shared_bytes, std::byte{0});
    dynamic_shared.written.assign(shared_bytes, 0);
    begin_shared(dynamic_shared, 4);

    if (counting) {
        const auto known = std::find_if(counts.begin(), counts.end(),
                                        [&](const auto& c) { return c.name == name; });
        count =
            known == counts.end() ? &counts.emplace_back(cuda::KernelCount{.name = name}) : &*known;
        ++count->launches;
        count->blocks += n_blocks;
        count->threads += n_blocks * n;
    }
    std::vector<Index> order(static_cast<std::size_t>(n_blocks));
    std::iota(order.begin(), order.end(), Index{0});
    std::shuffle(order.begin(), order.end(), shuffler);
    try {
        for (const Index b : order) {
            const auto i = static_cast<unsigned>(b);
            blockIdx = {i % blocks.x, i / blocks.x % blocks.y, i / (blocks.x * blocks.y)};
            run_block();
            if (counting) add_block();
        }
    } catch (...) {
        accesses.clear();
        for (Thread& given_up : kernel.threads) given_up.visits.clear();
        kernel.idle.clear();
        kernel.workers.clear();  // threads that wait are given up
        throw;
    }
}
// [waiting]
void wait_for_block(const Place& place) {
    wait(Waits::for_block, place);
}

void wait_for_warp(const Place& place) {
    wait(Waits::for_warp, place);
}

int own_lane() {
    return kernel.thread % 32;
}

/// Two places in turns: nobody gives the next value before all have taken this one.
std::uint64_t exchange(std::uint64_t value, int other, const Place& place) {
    const int self = kernel.thread;
    Thread& thread = kernel.threads[static_cast<std::size_t>(self)];
    const auto turn = static_cast<std::size_t>(thread.exchanges++ % 2);
    thread.given[turn] = value;
    wait(Waits::for_exchange, place);
    const int from = self / 32 * 32 + other;
    if (other < 0 || other >= 32 || static_cast<std::size_t>(from) >= kernel.threads.size())
        fail(fmt::format("asks lane {} of its warp for a value", other), place);
    return kernel.threads[static_cast<std::size_t>(from)].given[turn];
}
// [checks]
void fail(const std::string& what, const Place& place) {
    stop(kernel.thread, what, place);
}

namespace {

/// Throws unless the bytes are there. Outside of kernels nobody may look.
void check_inside(const Region& region, std::int64_t at, std::size_t size, const char* verb,
                  const Place& place) {
    const auto n = static_cast<std::int64_t>(size),
               all = static_cast<std::int64_t>(region.bytes.size());
    if (at < 0 || at + n > all)
        fail(fmt::format("{} element {} of {} memory that has {}", verb,
                         at >= 0 ? at / n : (at - n + 1) / n, region.kind, all / n),
             place);
}

/// Whether thread `other`, or several, touched this at a time that no barrier parts from now.
bool races(std::uint64_t time, std::uint64_t warp_time, int other, int other_warp) {
    const int self = kernel.thread, own_warp = self / 32;
    if (time != kernel.time || other == self || other == -1) return false;
    return other_warp != own_warp ||
           warp_time == kernel.warp_time[static_cast<std::size_t>(own_warp)];
}

}  // namespace
// [checks: accesses]
namespace {

/// Notes that this thread reads a word of shared memory, unless another one writes it.
void read_word(Region::Touch& touch, const Place& place) {
    if (races(touch.write_time, touch.write_warp_time, touch.writer, touch.writer / 32))
        fail("reads what thread " + to_string(touch.writer) + " writes; no barrier stands between",
             place);
    const int self = kernel.thread, own_warp = self / 32;
    const bool same_time = touch.read_time == kernel.time && touch.reader != -1;
    touch.reader = !same_time || touch.reader == self ? self : -2;
    touch.reader_warp = !same_time || touch.reader_warp == own_warp ? own_warp : -2;
    touch.read_time = kernel.time;
    touch.read_warp_time = kernel.warp_time[static_cast<std::size_t>(own_warp)];
}

void write_word(Region::Touch& touch, const Place& place) {
    if (races(touch.write_time, touch.write_warp_time, touch.writer, touch.writer / 32))
        fail("writes what thread " + to_string(touch.writer) + " writes too", place);
    if (races(touch.read_time, touch.read_warp_time, touch.reader, touch.reader_warp))
        fail("writes what " +
                 (touch.reader < 0 ? std::string("others") : "thread " + to_string(touch.reader)) +
                 " may still read; no barrier stands between",
             place);
    touch = {.write_time = kernel.time,
             .read_time = 0,
             .write_warp_time = kernel.warp_time[static_cast<std::size_t>(kernel.thread) / 32],
             .read_warp_time = 0,
             .writer = kernel.thread};
}

/// Whether `size` bytes of 1 stand there; mostly they are four or eight.
bool all_written(const std::uint8_t* bytes, std::size_t size) {
    if (size == 4) return std::memcmp(bytes, "\1\1\1\1", 4) == 0;
    if (size == 8) return std::memcmp(bytes, "\1\1\1\1\1\1\1\1", 8) == 0;
    return std::find(bytes, bytes + size, 0) == bytes + size;
}

/// Calls `f` with each word of shared memory in this range; device memory has none.
template <class F>
void for_words(Region& region, std::int64_t at, std::size_t size, const F& f) {
    if (region.touches.empty()) return;
    const auto first = static_cast<std::size_t>(at);
    for (std::size_t i = first >> region.element_bits; i << region.element_bits < first + size; ++i)
        f(region.touches[i]);
}

}  // namespace
// [checks: all of an access]
void reads(Region& region, std::int64_t at, std::size_t size, const Place& place) {
    check_inside(region, at, size, "reads", place);
    if (!all_written(region.written.data() + at, size))
        fail(fmt::format("reads element {} of {} memory, which nothing wrote",
                         at / static_cast<std::int64_t>(size), region.kind),
             place);
    if (counting) note(region, at, size, place);
    for_words(region, at, size, [&](Region::Touch& touch) { read_word(touch, place); });
}

void writes(Region& region, std::int64_t at, std::size_t size, const Place& place) {
    check_inside(region, at, size, "writes", place);
    std::memset(region.written.data() + at, 1, size);
    if (counting) note(region, at, size, place);
    for_words(region, at, size, [&](Region::Touch& touch) { write_word(touch, place); });
}

void begin_shared(Region& region, std::size_t element) {
    region.element_bits = std::countr_zero(element);
    region.touches.assign(region.bytes.size() / element, {});
    if (std::find(shared_regions.begin(), shared_regions.end(), &region) == shared_regions.end())
        shared_regions.push_back(&region);
}

Region& dynamic_region() {
    return dynamic_shared;
}
// [memory]
namespace {

/// Addresses that nobody can read or write: the elements lie elsewhere, and only kernels and copies
/// find them. No address is used twice, and between two blocks lies a gap.
class Memory {
public:
    Memory() {
        void* const base =
            ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) throw std::runtime_error("cuda emulator: no addresses are left");
        next_ = static_cast<std::byte*>(base);
        end_ = next_ + room;
    }

    void* take(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const std::size_t whole = (bytes + gap - 1) / gap * gap + gap;
        if (static_cast<std::size_t>(end_ - next_) < whole)
            throw std::runtime_error("cuda emulator: no addresses are left");
        std::byte* const address = next_;
        next_ += whole;
        blocks_.emplace(address, std::make_unique<Region>("device", bytes));
        return address;
    }
    void give(void* address) {
        const std::lock_guard lock(mutex_);
        blocks_.erase(static_cast<std::byte*>(address));
    }

    std::pair<Region*, std::size_t> find(const void* address) {
        const std::lock_guard lock(mutex_);
        const auto* const a = static_cast<const std::byte*>(address);
        auto block = blocks_.upper_bound(const_cast<std::byte*>(a));
        if (block == blocks_.begin()) return {nullptr, 0};
        --block;
        const auto offset = static_cast<std::size_t>(a - block->first);
        if (offset > block->second->bytes.size()) return {nullptr, 0};
        return {block->second.get(), offset};
    }

private:
    static constexpr std::size_t room = std::size_t{1} << 44, gap = 256;

    std::mutex mutex_;
    std::byte* next_;
    std::byte* end_;
    std::map<std::byte*, std::unique_ptr<Region>> blocks_;
};

Memory& memory() {
    static Memory* const all = new Memory;  // outlives every tensor
    return *all;
}

}  // namespace

std::pair<Region*, std::size_t> find(const void* address) {
    const auto found = memory().find(address);
    if (!found.first)
        throw std::runtime_error("cuda emulator: a kernel is given an address that is not there");
    return found;
}

}  // namespace abh::emulator
// [runtime]
namespace abh::cuda {

bool count_kernels(bool on) {
    emulator::counting = on;
    if (on) emulator::counts.clear();
    return true;
}

std::vector<KernelCount> kernel_counts() {
    return emulator::counts;
}

const bool emulated = true;

void open() {
    if (const char* seed = std::getenv("ABH_EMULATOR_SEED"))
        emulator::set_seed(std::strtoull(seed, nullptr, 10));
}

std::string name() {
    return "emulated on the processor";
}

void* take(std::size_t bytes) {
    return emulator::memory().take(bytes);
}

void give(void* block, std::size_t) noexcept {
    emulator::memory().give(block);
}

void copy_to_device(void* device, const void* host, std::size_t bytes) {
    const auto [region, at] = emulator::find(device);
    std::memcpy(region->bytes.data() + at, host, bytes);
    std::fill_n(region->written.begin() + static_cast<std::ptrdiff_t>(at), bytes, std::uint8_t{1});
}

void copy_to_host(void* host, const void* device, std::size_t bytes) {
    const auto [region, at] = emulator::find(device);
    std::memcpy(host, region->bytes.data() + at, bytes);
}

void copy_on_device(void* to, const void* from, std::size_t bytes) {
    const auto [source, at] = emulator::find(from);
    const auto [target, there] = emulator::find(to);
    std::memcpy(target->bytes.data() + there, source->bytes.data() + at, bytes);
    std::memcpy(target->written.data() + there, source->written.data() + at, bytes);
}

void synchronize() {}
// [runtime: product]
/// The library's place is taken by Eigen.
void multiply(const Product& p, Index batch) {
    const auto numbers = [](const Real* address, Index count, bool read) {
        const auto [region, at] = emulator::find(address);
        const auto first = region->written.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last = first + count * static_cast<Index>(sizeof(Real));
        if (last > region->written.end() || (read && std::find(first, last, 0) != last))
            throw std::runtime_error("cuda emulator: a product reads what nothing wrote");
        if (!read) std::fill(first, last, std::uint8_t{1});
        return reinterpret_cast<Real*>(region->bytes.data() + at);
    };
    const Real* const a = numbers(p.a.data, batch * p.m * p.k, true);
    const Real* const b = numbers(p.b.data, batch * p.k * p.n, true);
    if (p.add) numbers(p.c, batch * p.m * p.n, true);
    Real* const c = numbers(p.c, batch * p.m * p.n, false);
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
    }
}

}  // namespace abh::cuda
