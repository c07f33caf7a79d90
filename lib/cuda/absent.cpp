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

}  // namespace

namespace cuda {

const bool emulated = false;

void open() {
    no_device();
}
std::string name() {
    no_device();
}
void* take(std::size_t) {
    no_device();
}
void give(void*) noexcept {}
void copy_bytes(void*, const void*, std::size_t) {}
void send(void*, const void*, std::size_t) {}
void synchronize() {}
void multiply(const Product&, Index, const Real*) {}

}  // namespace cuda
// [absent: kernels]
namespace emulator {

std::pair<Region*, std::size_t> find(const void*) {
    no_device();
}
std::byte* access(Region&, const Use&, const Place&) {
    no_device();
}
void fail(const std::string&, const Place&) {
    no_device();
}
void wait(Waits, const Place&) {}
void multiply(int, float (&)[4], const std::uint32_t (&)[4], const std::uint32_t (&)[2],
              const Place&) {}
void begin_copy(Region*, std::int64_t, Region*, std::int64_t, std::size_t, const Place&) {}
void end_group() {}
void wait_for_copies(int) {}
std::uint64_t exchange(std::uint64_t, int, const Place&) {
    no_device();
}
void run(const char*, dim3, dim3, std::size_t, const std::function<void()>&) {}

}  // namespace emulator
}  // namespace abh
