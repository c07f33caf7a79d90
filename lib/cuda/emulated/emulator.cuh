#pragma once

// The device, emulated by the processor, for the host's compiler. The threads of a block run in
// fibers, and each access to memory is checked.
#include <math.h>

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/tensor.hpp"

// [names]
#define __global__ static
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __shared__ static

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;  // of the running thread
// [region]
namespace abh {
namespace emulator {

/// A line of a kernel.
struct Place {
    const char* file = "";
    unsigned line = 0;

    static constexpr Place current(const char* file = __builtin_FILE(),
                                   unsigned line = __builtin_LINE()) {
        return {file, line};
    }
    auto operator<=>(const Place&) const = default;
};

struct Region;
inline std::vector<Region*> shared_regions;  // of the memory that the threads of a block share

/// A piece of memory that kernels see, and what is known about each byte of it.
struct Region {
    const char* kind;  ///< `device` or `shared`
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> written;  ///< whether something wrote this byte

    /// Which thread touched an element of shared memory last, and when: the barriers of the block
    /// and of the warp, counted from 1. Several threads or warps are -2.
    struct Touch {
        int thread = -1, warp = -1;
        std::uint32_t time = 0, warp_time = 0;  ///< 0: no access yet
    };
    /// The last accesses to an element. Two threads race if both touch it, at least one of them
    /// writes, and no barrier comes in between.
    struct Touches {
        Touch write, read;
    };
    std::vector<Touches> touches;  ///< of each element; empty for device memory
    std::size_t element_bytes;     ///< of an element of shared memory; 0 for device memory
    bool used = false;             ///< shared memory: by the running block

    /// Which block of which launch wrote and read an element of device memory last, and in which
    /// lines: see `stamp` and `number_of`.
    struct Blocks {
        std::uint32_t wrote = 0, read = 0;
        std::uint16_t wrote_at = 0, read_at = 0;
    };
    std::vector<Blocks> blocks;  ///< of each element, as soon as a kernel has used one
    std::size_t unit_bytes = 0;  ///< of an element of `blocks`: 4, or fewer if kernels use fewer

    Region(const char* kind_, std::size_t size, std::size_t element = 0)
        : kind(kind_), element_bytes(element) {
        resize(size);
        if (element > 0) shared_regions.push_back(this);
    }
    /// Afterwards, no byte counts as written.
    void resize(std::size_t size) {
        bytes.resize(size);
        written.assign(size, 0);
        touches.assign(element_bytes > 0 ? size / element_bytes : 0, {});
    }
};
inline Region dynamic_region("shared", 0, 4);  // of dynamic shared memory; a launch sets its size

/// The region of device memory that holds `address` or ends there, and the offset in it. Throws
/// `std::runtime_error` if there is none.
std::pair<Region*, std::size_t> find(const void* address);
/// An access to memory by the running thread: `size` bytes from `at` on, which a device can move
/// only if `at` is a multiple of `alignment`.
struct Use {
    std::int64_t at;
    std::size_t size, alignment;
    bool write, atomic;
    int part = 0;  ///< of a request that takes its turns for one part after another

    template <class T>
    static Use of(std::int64_t at, bool write, bool atomic = false) {
        return {at, sizeof(T), alignof(T), write, atomic};
    }
};
/// The bytes that the running thread uses. Notes the access, or stops the kernel if it is a fault.
std::byte* access(Region& region, const Use& use, const Place& place);
/// Stops the kernel with a message that names it, the line and the thread.
[[noreturn]] void fail(const std::string& what, const Place& place);
// [checked element]
/// A position that knows the line of the kernel where it is used: `x[i]` makes one of `i`.
struct At {
    Index position;
    Place place;
    template <class I>
    requires std::is_integral_v<I> At(I i, Place where = Place::current())
        : position(static_cast<Index>(i)), place(where) {}
};

template <class T>
class Pointer;

/// The result of `x[i]` if elements may be written: it checks reads and writes.
template <class T>
class Element {
public:
    Element(Region* region, std::int64_t at, const Place& place)
        : region_(region), at_(at), place_(place) {}

    Element(const Element&) = default;
    operator T() const {
        T value;
        std::memcpy(&value, access(*region_, Use::of<T>(at_, false), place_), sizeof(T));
        return value;
    }
    const Element& operator=(T value) const {
        std::memcpy(access(*region_, Use::of<T>(at_, true), place_), &value, sizeof(T));
        return *this;
    }
    /// Adds `value` as one step, which other blocks may do at the same time.
    T add(T value) const {
        T before, after;
        std::memcpy(&before, access(*region_, Use::of<T>(at_, false, true), place_), sizeof(T));
        after = static_cast<T>(before + value);
        std::memcpy(access(*region_, Use::of<T>(at_, true, true), place_), &after, sizeof(T));
        return before;
    }
    const Element& operator=(const Element& other) const { return *this = static_cast<T>(other); }
    const Element& operator+=(T value) const { return *this = static_cast<T>(*this + value); }
    const Element& operator-=(T value) const { return *this = static_cast<T>(*this - value); }
    const Element& operator*=(T value) const { return *this = static_cast<T>(*this * value); }
    Pointer<T> operator&() const { return {region_, at_}; }

private:
    Region* region_;
    std::int64_t at_;
    Place place_;
};
// [checked pointer]
/// A pointer that checks every access.
template <class T>
class Pointer {
public:
    Pointer() = default;
    /// @param address  in the device's memory, or null
    Pointer(T* address) {
        if (address) std::tie(region_, at_) = find(address);
    }
    Pointer(Region* region, std::int64_t at) : region_(region), at_(at) {}
    Pointer(const Pointer<std::remove_const_t<T>>& other) requires std::is_const_v<T>
        : region_(other.region_), at_(other.at_) {}
    Pointer(const Pointer&) = default;
    Pointer& operator=(const Pointer&) = default;

    explicit operator bool() const { return region_ != nullptr; }
    Pointer operator+(Index n) const {
        return {region_, at_ + n * static_cast<std::int64_t>(sizeof(T))};
    }
    Pointer& operator+=(Index n) { return *this = *this + n; }

    auto operator[](At at) const {
        if (!region_) fail("reads or writes where there is no tensor", at.place);
        const Element<std::remove_const_t<T>> element(
            region_, at_ + at.position * static_cast<std::int64_t>(sizeof(T)), at.place);
        if constexpr (std::is_const_v<T>)
            return static_cast<std::remove_const_t<T>>(element);
        else
            return element;
    }

    Region* region() const { return region_; }
    std::int64_t offset() const { return at_; }

private:
    template <class>
    friend class Pointer;

    Region* region_ = nullptr;
    std::int64_t at_ = 0;
};
// [shared memory]
/// What remains of a shared array after some indices; `before` parts of its size precede it.
template <class T, int size, int... rest>
struct SharedPart {
    Region* region;
    Index before;

    auto operator[](At at) const {
        if (at.position < 0 || at.position >= size)
            fail(fmt::format("uses index {} of a shared array of {}", at.position, size), at.place);
        const Index position = before * size + at.position;
        if constexpr (sizeof...(rest) == 0)
            return Element<T>(region, position * static_cast<Index>(sizeof(T)), at.place);
        else
            return SharedPart<T, rest...>{region, position};
    }
};

/// An array `T[n]...` in the memory that the threads of a block share.
template <class T, int... n>
class SharedArray {
public:
    SharedArray() : region_("shared", sizeof(T) * (1 * ... * n), unit) {}
    auto operator[](At at) { return SharedPart<T, n...>{&region_, 0}[at]; }

private:
    /// Checked as one: an element, or a part of it whose size is a power of two.
    static constexpr std::size_t unit = sizeof(T) & -sizeof(T);
    Region region_;
};
// [threads]
enum class Waits { no, for_block, for_warp, for_exchange, for_matrices, for_tf32, for_bf16, done };

/// Waits for the other threads of the block or warp, which must wait at the same `place`.
void wait(Waits what, const Place& place);
/// Gives `value` to the rest of the warp, and returns that of `lane`. It orders no memory accesses.
std::uint64_t exchange(std::uint64_t value, int lane, const Place& place);
/// `ldmatrix`: loads four matrices of 8 rows of 16 bytes, whose addresses the lanes of a warp name:
/// lane 8 i + r row r of matrix i. Lane 4 g + q gets word q of row g of each or, if they are
/// `turned`, the halves of 16 bits in column g and rows 2 q and 2 q + 1.
void load_matrices(std::uint32_t (&words)[4], Region* region, std::int64_t at, bool turned,
                   const Place& place);
/// `mma.sync`: multiplies two matrices that the lanes of a warp hold in `a` and `b`, each register
/// with `together` numbers, and adds this lane's part of the product to `c`.
void multiply(int together, float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              const Place& place);

/// Begins to copy `bytes` from device memory to shared memory. Until `wait_for_copies`, they count
/// as not written.
void begin_copy(Region* to, std::int64_t at, Region* from, std::int64_t from_at, std::size_t bytes,
                const Place& place);
/// Ends a group of copies, to which those belong that this thread has begun since the last group.
void end_group();
/// Waits until this thread's copies have arrived, except those of the last `groups` groups that it
/// has ended and those of the group that it has not ended yet.
void wait_for_copies(int groups);

/// Runs `body` once for every thread of the grid.
void run(const char* name, dim3 blocks, dim3 threads, std::size_t shared_bytes,
         const std::function<void()>& body);
/// Shuffles the order of blocks, and of the threads in a block, by `seed`, to expose results that
/// depend on the order. The environment variable `ABH_EMULATOR_SEED` sets the seed, too.
void set_seed(std::uint64_t seed);

template <class T>
T shuffle(T value, int lane, const Place& place) {
    static_assert(sizeof(T) <= 8);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = exchange(bits, lane, place);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

inline int own_lane() {
    const dim3 &i = threadIdx, &n = blockDim;
    return static_cast<int>(i.x + n.x * (i.y + n.y * i.z)) % 32;
}

}  // namespace emulator
// [cuda functions]
using emulator::Place;

inline void __syncthreads(Place place = Place::current()) {
    emulator::wait(emulator::Waits::for_block, place);
}
inline void __syncwarp(unsigned = 0xffffffffu, Place place = Place::current()) {
    emulator::wait(emulator::Waits::for_warp, place);
}
template <class T>
T __shfl_sync(unsigned, T value, int lane, Place place = Place::current()) {
    return emulator::shuffle(value, lane % 32, place);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int bits, Place place = Place::current()) {
    return emulator::shuffle(value, emulator::own_lane() ^ bits, place);
}
template <class T>
T __shfl_down_sync(unsigned, T value, int distance, Place place = Place::current()) {
    const int lane = emulator::own_lane();
    return emulator::shuffle(value, lane + distance < 32 ? lane + distance : lane, place);
}
/// Adds `value`, and returns what was there before.
template <class T>
T atomicAdd(emulator::Pointer<T> to, std::type_identity_t<T> value,
            Place place = Place::current()) {
    return to[{0, place}].add(value);
}
// [asynchronous copies]
/// `<cuda_pipeline.h>`: copies of 4, 8 or 16 bytes that go on while the thread computes.
template <class T, class U>
void __pipeline_memcpy_async(emulator::Pointer<T> to, emulator::Pointer<U> from, std::size_t bytes,
                             Place place = Place::current()) {
    emulator::begin_copy(to.region(), to.offset(), from.region(), from.offset(), bytes, place);
}
inline void __pipeline_commit() {
    emulator::end_group();
}
inline void __pipeline_wait_prior(int groups) {
    emulator::wait_for_copies(groups);
}
// [launch]
namespace cuda {

template <class T>
using Global = emulator::Pointer<T>;
template <class T, int... n>
using Shared = emulator::SharedArray<T, n...>;

/// The same address for numbers of another type.
template <class To, class T>
emulator::Pointer<To> as(const emulator::Pointer<T>& address) {
    return {address.region(), address.offset()};
}

template <class T>
emulator::Pointer<T> dynamic_shared() {
    return {&emulator::dynamic_region, 0};
}

template <class T>
constexpr T infinity() {
    return static_cast<T>(__builtin_huge_val());
}

/// Stops a kernel whose block has more threads than its `__launch_bounds__` promises, which the
/// host's compiler does not read. A device refuses such a launch.
inline void threads_at_most(int most, Place place = Place::current()) {
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    if (threads > static_cast<unsigned>(most))
        emulator::fail(
            fmt::format("is one of {} in its block, which promises at most {}", threads, most),
            place);
}

/// Runs `kernel` on all threads of `grid`. Addresses become checked pointers.
template <class Grid, class... P, class... A>
void launch(const char* name, void (*kernel)(P...), const Grid& grid, A&&... arguments) {
    const std::tuple<P...> parameters(static_cast<P>(arguments)...);
    emulator::run(name, grid.blocks, grid.threads, grid.shared_bytes,
                  [&] { std::apply(kernel, parameters); });
}

}  // namespace cuda
}  // namespace abh
