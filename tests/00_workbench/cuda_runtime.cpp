// Once: products and memory of a real device, compiled here with a stand-in for CUDA's runtime and
// cuBLASLt, tests/cuda_stand_in.
// Names of their own keep them apart from those of the device that the test program is built for.
#include <stdlib.h>

#include "lib/cuda/runtime.hpp"
#include "lib/fast/fewer_bits.hpp"
#include "tests/products.hpp"

namespace abh::cuda_on_stand_in {
using cuda::Device, cuda::Epilogue, cuda::Factors16, cuda::OutOfMemory, cuda::tf32;
Device& device();
}  // namespace abh::cuda_on_stand_in
namespace abh::memory_on_stand_in {
using memory::Block;
}
#define cuda cuda_on_stand_in
#define memory memory_on_stand_in
#include "lib/cuda/runtime.cu"
#include "lib/fast/memory.cpp"
#undef cuda
#undef memory

using namespace abh;
using cuda_on_stand_in::check_launch;
namespace device_memory = abh::memory_on_stand_in;

namespace {

cuda::Device& device = cuda_on_stand_in::device();

/// Numbers in the device's memory, from `offset` bytes after the beginning of a block on.
template <class T>
class Numbers {
public:
    explicit Numbers(const BasicTensor<T>& x, std::size_t offset = 0)
        : shape_(x.shape()), block_(device.take(offset + bytes())) {
        data = reinterpret_cast<T*>(static_cast<std::byte*>(block_) + offset);
        if (!x.empty()) device.copy_bytes(data, x.data(), bytes());
    }
    Numbers(const Numbers&) = delete;
    ~Numbers() { device.give(block_); }
    BasicTensor<T> fetch() const {
        BasicTensor<T> x(shape_);
        device.copy_bytes(x.data(), data, bytes());
        return x;
    }
    T* data;

private:
    std::size_t bytes() const { return static_cast<std::size_t>(shape_.size()) * sizeof(T); }

    Shape shape_;
    void* block_;
};

/// The same numbers in bf16.
BasicTensor<Half> halves_of(const Tensor& x) {
    BasicTensor<Half> y(x.shape());
    std::copy_n(in_bf16(x).get(), x.size(), y.data());
    return y;
}

/// How many bytes after the beginning of a block the matrices begin.
struct Offsets {
    std::size_t a = 0, b = 0, c = 0;
};

/// Multiplies on the device, and requires what the plain way gives.
void require_product(const Tensor& before, const Operands& of, const MatmulOptions& o = {},
                     bool add = false, const Offsets& offsets = {}) {
    const Numbers a(of.a, offsets.a), b(of.b, offsets.b), c(before, offsets.c);
    device.multiply(product_of(of.a, of.b, o, add).at(c.data, a.data, b.data),
                    matrices(before.shape()), {}, {});
    Tensor expected = before.clone();
    const ScopedWay plain(Way::plain);
    multiply(expected, of.a, of.b, o, add);
    const double k = static_cast<double>(of.a.dim(o.transpose_a ? -2 : -1));
    CAPTURE(to_string(of.a.shape()), to_string(of.b.shape()), o.transpose_a, o.transpose_b, add);
    REQUIRE(max_difference(c.fetch(), expected) <= 20 * (k + 1) * eps);  // as in matmul.cpp
}

/// Multiplies two matrices, adds a bias, if there is one, to each row, and cuts with `relu`.
void require_product_and_bias(const Operands& of, const Tensor& bias, std::size_t offset,
                              bool relu) {
    const Tensor expected = matmul(of.a, of.b);
    const Numbers a(of.a), b(of.b), c(expected.clone()), added(bias, offset);
    device.multiply(product_of(of.a, of.b, {}, false).at(c.data, a.data, b.data),
                    matrices(expected.shape()),
                    {.bias = bias.empty() ? nullptr : added.data, .relu = relu}, {});
    const Tensor found = c.fetch();
    for (Index i = 0; i < found.size(); ++i) {
        const Real y = expected.data()[i] + (bias.empty() ? 0 : bias.data()[i % bias.size()]);
        REQUIRE(found.data()[i] == Approx(relu ? std::max(y, Real(0)) : y).margin(1e-5));
    }
}

/// Multiplies [k, m] transposed by [k, n], and with it sums the columns of the first.
/// @return  false if that was refused, and nothing computed
bool require_product_and_sums(const Tensor& left, const Tensor& right, std::size_t offset = 0) {
    const Tensor before = Tensor::full({left.dim(1), right.dim(1)}, 2);
    const Numbers a(left), b(right), c(before), sums(Tensor::full({left.dim(1)}, 7), offset);
    const auto product = product_of(left, right, {.transpose_a = true}, true);
    if (!device.multiply(product.at(c.data, a.data, b.data), 1, {.sums_of_a = sums.data}, {})) {
        REQUIRE(max_difference(c.fetch(), before) == 0);
        return false;
    }
    Tensor expected = before.clone(), expected_sums = Tensor::zeros({left.dim(1)});
    const ScopedWay plain(Way::plain);
    add_matmul(expected, left, right, {.transpose_a = true});
    add_column_sums(expected_sums, left);
    const double k = static_cast<double>(left.dim(0));
    REQUIRE(max_difference(c.fetch(), expected) <= 20 * (k + 1) * eps);
    REQUIRE(max_difference(sums.fetch(), expected_sums) <= 20 * (k + 1) * eps);
    return true;
}

/// [m, 2] times [2, 3].
void multiply_rows(Index m) {
    require_product(Tensor::zeros({m, 3}), {Tensor::full({m, 2}, 2), Tensor::full({2, 3}, 3)});
}

/// A kernel that has failed, until the end of the block.
struct KernelFault {
    KernelFault() {
        unsetenv("CUDA_LAUNCH_BLOCKING");
        stand_in::fault = cudaErrorIllegalAddress;
    }
    KernelFault(const KernelFault&) = delete;
    ~KernelFault() {
        unsetenv("CUDA_LAUNCH_BLOCKING");
        stand_in::fault = cudaSuccess;
        cudaGetLastError();
    }
};
const std::string fault = "an illegal memory access was encountered",
                  in_kernel = " (perhaps in an earlier kernel; CUDA_LAUNCH_BLOCKING=1 names it)";

}  // namespace

TEST_CASE("the descriptors describe the products that the plain way computes") {
    Draw draw;
    for (const Index k : {0, 1, 6})
        for (const Index batch : {1, 3})
            for (const MatmulOptions& o : all_forms)
                for (const bool add : {false, true})
                    require_product(draw({batch, 4, 5}), operands(draw, {batch}, 4, k, 5, o), o,
                                    add);
}

TEST_CASE("a device older than compute capability 8.0 does not multiply in bf16") {
    CHECK(device.has_bf16());
    stand_in::major = 7;
    CHECK(!device.has_bf16());
    stand_in::major = 9;
}

TEST_CASE("factors in bf16 take the place of a product's own, and the rest stays in floats") {
    Draw draw;
    for (const MatmulOptions& o : all_forms)
        for (const bool add : {false, true}) {
            const Operands of = operands(draw, {3}, 4, 7, 5, o);
            const Tensor before = draw({3, 4, 5});
            const Numbers a(halves_of(of.a), 2), b(halves_of(of.b));
            const Numbers c(before);
            const Product product = product_of(of.a, of.b, o, add);
            REQUIRE(device.multiply(product.at(c.data, nullptr, nullptr), 3, {}, {a.data, b.data}));
            CHECK(stand_in::asked.back() == stand_in::Alignments{256, 2, 256, 256});
            Tensor expected = before.clone();
            const ScopedWay plain(Way::plain);
            multiply(expected, rounded(of.a, Precision::bf16), rounded(of.b, Precision::bf16), o,
                     add);
            REQUIRE(max_difference(c.fetch(), expected) <= 20 * (7 + 1) * eps);  // as above
        }
}

TEST_CASE("a view that begins off alignment gets a plan that allows it") {
    Draw draw;
    const Operands factors = operands(draw, {2}, 5, 7, 3, {});
    const Tensor before = draw({2, 5, 3});
    const auto plans_after = [&](const Offsets& offsets) {
        require_product(before, factors, {}, false, offsets);
        return stand_in::asked.size();
    };
    const std::size_t aligned = plans_after({});
    CHECK(stand_in::asked.back() == stand_in::Alignments{256, 256, 256, 256});
    CHECK(plans_after({256, 512, 1024}) == aligned);
    CHECK(plans_after({4, 0, 0}) == aligned + 1);
    CHECK(stand_in::asked.back() == stand_in::Alignments{256, 4, 256, 256});  // B is our a
    CHECK(plans_after({4, 8, 16 + 64}) == aligned + 2);
    CHECK(stand_in::asked.back() == stand_in::Alignments{8, 4, 16, 16});
    CHECK(plans_after({12, 24, 16}) == aligned + 2);  // divisible by the same powers of two
}

TEST_CASE("the library adds a bias to each row, and its plan depends on the bias's alignment") {
    Draw draw;
    CHECK(cuda_on_stand_in::handle().relu_keeps_nan(false));  // has asked for a plan of its own
    for (const Index batch : {1, 3}) {
        const Operands factors = operands(draw, {batch}, 5, 7, 3, {});
        require_product(Tensor::zeros({batch, 5, 3}), factors);
        const std::size_t without = stand_in::asked.size();
        const auto plans_after = [&](std::size_t offset) {
            require_product_and_bias(factors, draw({3}), offset, false);
            return stand_in::asked.size();
        };
        CHECK(plans_after(0) == without + 1);
        CHECK(plans_after(256) == without + 1);  // another bias
        CHECK(plans_after(4) == without + 2);
        require_product(Tensor::zeros({batch, 5, 3}), factors);  // still without
        CHECK(stand_in::asked.size() == without + 2);
        require_product_and_bias(factors, draw({3}), 0, true);  // with ReLU
        require_product_and_bias(factors, Tensor({0}), 0, true);
        CHECK(stand_in::asked.size() == without + 4);
    }
}

TEST_CASE("the library sums up along with a product, or says once that it cannot") {
    Draw draw;
    const Tensor dy = draw({6, 3}), x = draw({6, 5});
    const std::size_t before = stand_in::asked.size();
    CHECK(require_product_and_sums(dy, x));
    CHECK(require_product_and_sums(dy, x, 4));
    CHECK(require_product_and_sums(draw({0, 3}), draw({0, 5})));
    CHECK(stand_in::asked.size() == before + 2);

    stand_in::state = CUBLAS_STATUS_NOT_SUPPORTED;
    CHECK(!require_product_and_sums(draw({7, 3}), draw({7, 5})));
    stand_in::state = CUBLAS_STATUS_INVALID_VALUE;
    CHECK(!require_product_and_sums(draw({8, 3}), draw({8, 5})));
    stand_in::state = CUBLAS_STATUS_SUCCESS;
    CHECK(!require_product_and_sums(draw({7, 3}), draw({7, 5})));
    CHECK(stand_in::asked.size() == before + 4);
}

TEST_CASE(
    "a bias or a cut that the library refuses is refused once, and the product alone goes on") {
    const Tensor one = Tensor::full({9, 9}, 1);
    const Numbers a(one), b(one), c(one), bias(Tensor::full({9}, 1));
    const Product product = product_of(one, one, {}, false).at(c.data, a.data, b.data);
    stand_in::state = CUBLAS_STATUS_INVALID_VALUE;
    CHECK(!device.multiply(product, 1, {.bias = bias.data}, {}));
    CHECK_THROWS(device.multiply(product, 1, {}, {}));
    stand_in::state = CUBLAS_STATUS_SUCCESS;
    CHECK(!device.multiply(product, 1, {.bias = bias.data}, {}));
    CHECK(max_difference(c.fetch(), one) == 0);
    CHECK(device.multiply(product, 1, {}, {}));
    CHECK(c.fetch()(0, 0) == 9);
}

TEST_CASE("a library whose ReLU would hide NaN does not cut") {
    const Tensor one = Tensor::full({4, 4}, 1);
    const Numbers a(one), b(one), c(one);
    const Product product = product_of(one, one, {}, false).at(c.data, a.data, b.data);
    const Numbers half(halves_of(one));
    for (const bool hides : {true, false})
        for (const bool in_bf16 : {true, false}) {
            stand_in::relu_hides_nan = hides;
            cuda_on_stand_in::handle().keeps_nan[in_bf16].reset();
            const Half* const halves = in_bf16 ? half.data : nullptr;
            CHECK(device.multiply(product, 1, {.relu = true}, {halves, halves}) == !hides);
        }
}

TEST_CASE("work on a device is timed without its first call") {
    const Numbers to(Tensor::zeros({1}));
    const Real one = 1;
    int calls = 0;
    CHECK(device.milliseconds([&] { device.send(to.data, &one, sizeof one), ++calls; }) == 1);
    CHECK(calls == 6);
}

TEST_CASE("the plans of the latest products are kept") {
    multiply_rows(1);
    const std::size_t before = stand_in::asked.size();
    for (Index m = 2; m <= 1000; ++m) {
        multiply_rows(m);
        multiply_rows(1);  // is kept, because it is always one of the last
    }
    CHECK(stand_in::asked.size() == before + 999);
    multiply_rows(1000 - 510);
    CHECK(stand_in::asked.size() == before + 999);
    multiply_rows(1000 - 511);
    CHECK(stand_in::asked.size() == before + 1000);
}

TEST_CASE("an algorithm that the library could not find is not used") {
    Draw draw;
    const Operands factors = operands(draw, {2}, 3, 8, 4, {});
    const auto multiply = [&] { require_product(Tensor::zeros({2, 3, 4}), factors); };
    stand_in::state = CUBLAS_STATUS_NOT_SUPPORTED;
    CHECK_THROWS_WITH(multiply(),
                      "cuda: product: the functionality requested is not supported "
                      "(m 3, n 4, k 8, batch 2)");
    stand_in::state = CUBLAS_STATUS_SUCCESS;
    multiply();
}

TEST_CASE("what was sent may change at once, and the device copies it in passing") {
    const Tensor nothing = Tensor::zeros({3});
    Tensor x({3});
    const auto send = [&](const Numbers<Real>& to, Real value) {
        x.fill(value);
        device.send(to.data, x.data(), 3 * sizeof(Real));
    };
    const Numbers first(nothing), last(nothing);
    stand_in::finish_copies();
    const std::size_t before = stand_in::copies_done;
    send(first, 1);
    for (Real i = 2; i <= 4; ++i) send(last, i);
    CHECK(stand_in::copies_done == before);  // none had to wait
    send(last, 5);
    CHECK(stand_in::copies_done == before + 1);  // the piece that it takes is free again
    CHECK(stand_in::copies.size() == before + 5);
    CHECK(max_difference(first.fetch(), Tensor::full({3}, 1)) == 0);
    CHECK(max_difference(last.fetch(), Tensor::full({3}, 5)) == 0);

    const Tensor large = random_tensor({(256 << 10) / static_cast<Index>(sizeof(Real)) + 1});
    const Numbers whole(large);
    device.send(whole.data, large.data(), static_cast<std::size_t>(large.size()) * sizeof(Real));
    CHECK(stand_in::copies.size() == before + 5);  // too large for a piece
    CHECK(max_difference(whole.fetch(), large) == 0);
}

TEST_CASE("a device that has no room for a large piece is asked once more, for what is needed") {
    stand_in::requests.clear();
    stand_in::most_bytes = 1 << 20;
    const auto block = device_memory::take_on_device(1000);
    CHECK(block.bytes == 1024);
    CHECK(stand_in::requests == std::vector<std::size_t>{64 << 20, 1024});
    CHECK(cudaGetLastError() == cudaSuccess);
    device_memory::give_on_device(block);

    stand_in::requests.clear();
    stand_in::most_bytes = 0;
    CHECK_THROWS_WITH(device_memory::take_on_device(5000),
                      "cuda: out of memory: 5120 bytes were requested");
    CHECK(stand_in::requests == std::vector<std::size_t>{64 << 20, 5120});
    CHECK_THROWS_WITH(device_memory::take_on_device(64 << 20),
                      "cuda: out of memory: 67108864 bytes were requested");
    CHECK(stand_in::requests.size() == 3);
    stand_in::most_bytes = std::numeric_limits<std::size_t>::max();
}

TEST_CASE("a kernel's fault is not taken for a lack of memory") {
    const KernelFault before;
    stand_in::requests.clear();
    CHECK_THROWS_WITH(device_memory::take_on_device(5000),
                      "cuda: memory allocation: " + fault + in_kernel);
    CHECK(stand_in::requests.size() == 1);
}

TEST_CASE("a kernel's fault shows in a later call, or at once and by name if launches wait") {
    const Tensor one = Tensor::full({1, 1}, 1);
    const Numbers a(one), b(one), c(one);
    const KernelFault before;
    check_launch("softmax");
    CHECK_THROWS_WITH(device.synchronize(), "cuda: synchronization: " + fault + in_kernel);
    const Product product = product_of(one, one, {}, false).at(c.data, a.data, b.data);
    CHECK_THROWS_WITH(device.multiply(product, 1, {}, {}),
                      "cuda: product: " + fault + in_kernel + " (m 1, n 1, k 1, batch 1)");

    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    CHECK_THROWS_WITH(check_launch("softmax"), "cuda: softmax: " + fault);
}
