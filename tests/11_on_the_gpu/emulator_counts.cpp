// Per way: what kernels ask of the memories, as the emulator counts it.
#include "chapters/06_feed_forward/relu.hpp"
#include "chapters/11_on_the_gpu/ladder.cuh"
#include "chapters/11_on_the_gpu/variants.cuh"
#include "lib/cuda/counts.hpp"
#include "lib/parameter.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

/// What the last kernel of `f` asks of the memories once its tensors are on the device.
template <class F>
cuda::KernelCount counted(const F& f) {
    f();
    REQUIRE(cuda::count_kernels(true));
    f();
    cuda::count_kernels(false);
    return cuda::kernel_counts().back();
}

}  // namespace

TEST_CASE("neighbors that take neighbors need four sectors a request", "[cuda]") {
    if (in_double) return;  // eight, of numbers twice as long
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({4096});
    const auto count = [&](int together) {
        const cuda::KernelCount c = counted([&] { cuda::copy(x, together); });
        CHECK(c.bytes == 2 * 4096 * 4);
        CHECK(c.requests == 2 * 4096 / 32);
        return c.sectors / c.requests;
    };
    CHECK(count(1) == 4);
    CHECK(count(2) == 8);
    CHECK(count(8) == 32);
}

TEST_CASE("elementwise kernels read and write four neighbors at once", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({4096});
    const cuda::KernelCount c = counted([&] { relu(x); });
    CHECK(c.bytes == 2 * 4096 * static_cast<Index>(sizeof(Real)));
    CHECK(c.requests == 2 * 4096 / 4 / 32);

    Parameter w(x);
    const cuda::KernelCount of_list = counted([&] { scale_grad({{"w", &w}}, 2); });
    CHECK(of_list.name == "scale list");
    CHECK(of_list.requests == 2 * 4096 / 4 / 32 + 1);  // and one thread reads the list
}

TEST_CASE("one column more keeps the turns of a transpose apart", "[cuda]") {
    if (in_double) return;
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({64, 96});
    const auto turns = [&](cuda::Turn turn) {
        const cuda::KernelCount c = counted([&] { cuda::transpose(x, turn); });
        return static_cast<double>(c.shared_turns) / static_cast<double>(c.shared_requests);
    };
    CHECK(turns(cuda::Turn::tile) == 16.5);  // 1 to write, 32 to read
    CHECK(turns(cuda::Turn::padded_tile) == 1);
}

TEST_CASE("each rung asks the memories for what the page computes", "[cuda]") {
    struct Asked {
        Index requests, sectors, shared_requests, shared_turns, barriers;
        bool operator==(const Asked&) const = default;
    };
    const ScopedWay device(Way::cuda);
    constexpr Index k = 16, steps = 2, warps = 8, columns = 4 * 16, elements = 64 * warps;
    const Tensor a = random_tensor({128, k}), b = random_tensor({k, 128});
    const auto asked = [&](cuda::Rung rung) {
        const cuda::KernelCount c = counted([&] { product(a, b, rung); });
        return Asked{c.requests, c.sectors, c.shared_requests, c.shared_turns, c.barriers};
    };
    using cuda::Rung;
    // 512 warps, each with 16 x 2 results; what is written follows the plus
    CHECK(asked(Rung::naive) == Asked{elements * (2 * k + 1), elements * (17 * k + 16), 0, 0, 0});
    CHECK(asked(Rung::coalesced) == Asked{elements * (2 * k + 1), elements * (4 * k + 4), 0, 0, 0});
    CHECK(asked(Rung::shared) == Asked{elements * 3, elements * (4 + 4 + 4),
                                       elements * (2 + 2 * 16), elements * (2 + 2 * 16), 64 * 2});
    // 4 blocks of 16 warps; a step writes 2 words per thread and reads 9 for each of 8 p
    CHECK(asked(Rung::column) == Asked{columns * (2 * steps + 8), columns * (8 * steps + 32),
                                       columns * steps * 74, columns * steps * 74, 4 * 2 * steps});
    // one block from here on
    CHECK(asked(Rung::square) == Asked{warps * (8 * steps + 64), warps * (32 * steps + 256),
                                       warps * steps * 136, warps * steps * 136, 2 * steps});
    // a step writes 4 words and a four of 4 turns, and reads 4 fours in 6 turns for each of 8 p
    CHECK(asked(Rung::wide) == Asked{warps * (2 * steps + 16), warps * (32 * steps + 256),
                                     warps * steps * 37, warps * steps * 56, 2 * steps});
    // a step copies 2 fours of 4 turns, and reads 8 fours in 8 turns and 8 in 16 for each four p
    CHECK(asked(Rung::two_stages) == Asked{warps * (2 * steps + 16), warps * (32 * steps + 256),
                                           warps * steps * 34, warps * steps * 56, steps});
    // a step reads 4 fragments of 4 turns at once, and 4 of 2 words
    CHECK(asked(Rung::tensor_cores) == Asked{warps * (2 * steps + 64), warps * (32 * steps + 512),
                                             warps * steps * 14, warps * steps * 32, steps});
}
