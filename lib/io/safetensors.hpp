#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "lib/tensor.hpp"

namespace abh {
// [interface]
/// Named tensors and notes, as a safetensors file holds them.
struct TensorFile {
    std::map<std::string, Tensor> tensors;
    std::map<std::string, std::string> metadata;

    /// @throws std::invalid_argument naming the tensor if it is missing or has another shape
    const Tensor& at(const std::string& name, const Shape& shape) const;
};

/// Writes a safetensors file: F32 where `Real` is float, F64 where it is double.
/// The file appears whole or not at all.
/// @throws std::runtime_error if it cannot be written
void save_safetensors(const std::filesystem::path& path, const TensorFile& content);

/// Reads a safetensors file; tensors of rank 0 to 4 and of the types F32, F64, F16 and BF16 are
/// converted to `Real`, exactly, unless F64 has to become float.
///
/// Everything is checked before it is believed: header length, JSON, names, types, shapes against
/// sizes, offsets without holes or overlaps, the file's length.
/// @throws std::runtime_error naming the file and what is wrong with it
TensorFile load_safetensors(const std::filesystem::path& path);

}  // namespace abh
