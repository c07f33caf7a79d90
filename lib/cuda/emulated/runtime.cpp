#include "lib/cuda/runtime.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/cuda/emulated/running_kernel.cuh"
#include "lib/eigen.hpp"

namespace abh::emulator {
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
    bool has_bf16() override { return true; }
    void* take(std::size_t bytes) override;
    void give(void* block) noexcept override;
    void copy_bytes(void* to, const void* from, std::size_t bytes) override;
    void send(void* to, const void* from, std::size_t bytes) override;
    void synchronize() override;
    bool multiply(const Product& p, Index batch, const Epilogue& e,
                  const Factors16& factors) override;
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
/// Eigen takes the place of the library. Numbers in bf16 are those that tensor cores read, and
/// their products are exact in single precision, so only the sums differ from a device's by
/// rounding.
bool EmulatedDevice::multiply(const Product& p, Index batch, const Epilogue& e,
                              const Factors16& factors) {
    if (sizeof(Real) == 8 && (e.bias || e.relu || e.sums_of_a))
        return false;  // as the library may: this tests it
    const auto numbers = []<class T>(T* address, Index count, bool read) {
        const auto [region, at] = emulator::find(address);
        const auto first = region->written.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last = first + count * static_cast<Index>(sizeof(T));
        if (last > region->written.end() || (read && std::find(first, last, 0) != last))
            throw std::runtime_error("cuda emulator: product: unwritten or out-of-range elements");
        if (!read) std::fill(first, last, std::uint8_t{1});
        return reinterpret_cast<T*>(region->bytes.data() + at);
    };
    std::vector<Real> wide_a, wide_b;
    const auto factor = [&](const Real* own, const Half* halves, Index count,
                            std::vector<Real>& wide) {
        if (!halves) return numbers(own, count, true);
        const Half* const all = numbers(halves, count, true);
        for (Index i = 0; i < count; ++i)
            wide.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(all[i]) << 16));
        return std::as_const(wide).data();
    };
    const Real* const a = factor(p.a.data, factors.a, batch * p.m * p.k, wide_a);
    const Real* const b = factor(p.b.data, factors.b, batch * p.k * p.n, wide_b);
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
