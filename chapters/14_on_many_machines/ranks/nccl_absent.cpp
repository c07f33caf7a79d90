#include <stdexcept>

#include "chapters/14_on_many_machines/ranks/nccl.hpp"

namespace abh {
// [no nccl]
bool each_takes_gpu(Engine&) {
    return false;
}

std::unique_ptr<Engine> make_nccl_engine(Engine&) {
    throw std::runtime_error(
        "ranks: this program was built without NCCL; install NCCL beside the CUDA Toolkit, and "
        "build again");
}

}  // namespace abh
