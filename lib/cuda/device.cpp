#include "lib/device.hpp"

#include "lib/cuda/runtime.hpp"

namespace abh {
// [device]
std::string device_name() {
    return on_cuda() ? cuda::device().name() : "cpu";
}

void synchronize() {
    if (on_cuda()) cuda::device().synchronize();
}
// [precision]
namespace {

bool tf32_allowed = false;

}  // namespace

void set_tf32(bool allowed) {
    tf32_allowed = allowed;
}

bool device_has_bf16() {
    return cuda::device().has_bf16();
}

bool cuda::tf32() {
    return tf32_allowed;
}

}  // namespace abh
