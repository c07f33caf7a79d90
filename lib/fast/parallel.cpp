#include "lib/fast/parallel.hpp"

#include <omp.h>

#include <exception>

namespace abh {
// [interface]
namespace {

int n_threads = 1;

}  // namespace

void set_threads(int n) {
    require(n >= 1 && n <= 256, "threads: {} is not between 1 and 256", n);
    n_threads = n;
}

int threads() {
    return n_threads;
}

void run_parallel(Index n, const std::function<void(Index)>& f) {
    if (n <= 1 || n_threads == 1 || omp_in_parallel()) {
        for (Index i = 0; i < n; ++i) f(i);
        return;
    }
    std::exception_ptr error;
#pragma omp parallel for schedule(static, 1) num_threads(n_threads)
    for (Index i = 0; i < n; ++i) {
        try {
            f(i);
        } catch (...) {
#pragma omp critical
            if (!error) error = std::current_exception();
        }
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace abh
