// Once: a build without a device, whatever this build has: lib/cuda/absent.cpp is linked in its
// place.
#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "lib/device.hpp"
#include "tests/support.hpp"

using namespace abh;

TEST_CASE("without a device the way stays as it is, and one line says what is missing") {
    const ScopedWay plain(Way::plain);
    const std::string says =
        "this program was built without CUDA; configure with -DABH_CUDA=ON, or with "
        "-DABH_CUDA=EMULATED to run the kernels on the processor";
    CHECK_THROWS_WITH(set_way(Way::cuda), says);
    CHECK_THROWS_WITH(ScopedWay(Way::cuda), says);
    CHECK(way() == Way::plain);
    CHECK(device_name() == "cpu");
    CHECK_FALSE(cuda::device().emulated());
}

TEST_CASE("without a device the ways plain and fast compute") {
    const Tensor x({2, 2}, {0, 0, 1, 1});
    for (const Way other : {Way::plain, Way::fast}) {
        const ScopedWay here(other);
        CHECK(softmax(x)(1, 0) == Approx(0.5));
    }
}
