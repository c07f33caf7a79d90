#pragma once

#include <cstddef>
#include <string>

#include "lib/tensor.hpp"

namespace abh::cuda {
// [runtime]
// The device's memory and its products. Written twice: for a real device in runtime.cu, for the
// emulated one in emulator.cpp; a build without either has absent.cpp, where `open` throws.

/// Whether the processor plays the device.
extern const bool emulated;

/// Looks for a device. @throws std::runtime_error that says in one line what is missing
void open();
std::string name();

void* take(std::size_t bytes);
void give(void* block, std::size_t bytes) noexcept;
void copy_to_device(void* device, const void* host, std::size_t bytes);
void copy_to_host(void* host, const void* device, std::size_t bytes);
void copy_on_device(void* to, const void* from, std::size_t bytes);
void synchronize();
// [runtime: product]
/// `c = scale * op(a) op(b)`, or `c += ...`, for `batch` matrices that follow one another,
/// row-major.
struct Product {
    Real* c;        ///< [batch, m, n]
    const Real* a;  ///< [batch, m, k], or [batch, k, m] with transpose_a
    const Real* b;  ///< [batch, k, n], or [batch, n, k] with transpose_b
    Index batch, m, n, k;
    bool transpose_a, transpose_b;
    Real scale;
    bool add;
};
void multiply(const Product& product);

}  // namespace abh::cuda
