// Starts twenty processes, each below the memory limit but together far above it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    for (int i = 0; i < 20; ++i)
        if (fork() == 0) {
            char* memory = new char[900u << 20];
            std::memset(memory, 1, 900u << 20);
            sleep(3);
            _exit(0);
        }
    while (wait(nullptr) > 0) {
    }
    return w;
}
}  // namespace abh::mine
