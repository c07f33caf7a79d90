// A build without a device: kernels are compiled, but never run.
#include <stdexcept>

#include "lib/cuda/emulated/emulator.cuh"
#include "lib/cuda/runtime.hpp"

namespace abh {
// [absent]
namespace {

[[noreturn]] void no_device() {
    throw std::runtime_error(
        "this program was built without CUDA; configure with -DABH_CUDA=ON, or with "
        "-DABH_CUDA=EMULATED to run the kernels on the processor");
}

class NoDevice final : public cuda::Device {
public:
    void open() override { no_device(); }
    std::string name() override { no_device(); }
    bool emulated() const override { return false; }
    bool has_bf16() override { no_device(); }
    void* take(std::size_t) override { no_device(); }
    void give(void*) noexcept override {}
    void copy_bytes(void*, const void*, std::size_t) override { no_device(); }
    void send(void*, const void*, std::size_t) override { no_device(); }
    void synchronize() override { no_device(); }
    bool multiply(const Product&, Index, const cuda::Epilogue&, const cuda::Factors16&) override {
        no_device();
    }
};

}  // namespace

cuda::Device& cuda::device() {
    static Device* const none = new NoDevice;  // never deleted, as tensors may end later
    return *none;
}
// [absent: kernels]
// What the compiled kernels would call. As each name says its namespace, the compiler refuses a
// function that the emulator does not declare.
std::pair<emulator::Region*, std::size_t> emulator::find(const void*) {
    no_device();
}
std::byte* emulator::access(Region&, const Use&, const Place&) {
    no_device();
}
void emulator::fail(const std::string&, const Place&) {
    no_device();
}
void emulator::wait(Waits, const Place&) {
    no_device();
}
void emulator::load_matrices(std::uint32_t (&)[4], Region*, std::int64_t, bool, const Place&) {
    no_device();
}
void emulator::multiply(int, float (&)[4], const std::uint32_t (&)[4], const std::uint32_t (&)[2],
                        const Place&) {
    no_device();
}
void emulator::begin_copy(Region*, std::int64_t, Region*, std::int64_t, std::size_t, const Place&) {
    no_device();
}
void emulator::end_group() {
    no_device();
}
void emulator::wait_for_copies(int) {
    no_device();
}
std::uint64_t emulator::exchange(std::uint64_t, int, const Place&) {
    no_device();
}
void emulator::run(const char*, dim3, dim3, std::size_t, const std::function<void()>&) {
    no_device();
}

}  // namespace abh
