// Leaves a process behind.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    if (fork() == 0) {
        setsid();
        for (int s = 1; s < 65; ++s) std::signal(s, SIG_IGN);
        if (fork() == 0) {
            for (int i = 0; i < 64; ++i) close(i);
            for (;;) sleep(100);
        }
        _exit(0);
    }
    return w;
}
}  // namespace abh::mine
