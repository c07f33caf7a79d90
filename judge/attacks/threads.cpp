// Starts a thousand threads.
#include <chrono>
#include <thread>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    std::vector<std::thread> all;
    for (int i = 0; i < 1000; ++i)
        all.emplace_back([] { std::this_thread::sleep_for(std::chrono::seconds(20)); });
    for (auto& thread : all) thread.join();
    return w;
}
}  // namespace abh::mine
