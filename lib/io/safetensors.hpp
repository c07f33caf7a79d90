#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "lib/tensor.hpp"

namespace abh {
// [interface]
/// The named tensors and the notes of a safetensors file.
struct TensorFile {
    std::map<std::string, Tensor> tensors;
    std::map<std::string, std::string> metadata;

    /// @throws std::invalid_argument naming the tensor if it is missing or has another shape
    const Tensor& at(const std::string& name, const Shape& shape) const;
};

/// Writes a safetensors file: F32 if `Real` is float, F64 if it is double.
/// The file appears whole or not at all.
/// @throws std::runtime_error if it cannot be written
/// @throws std::invalid_argument naming a note that is not UTF-8
void save_safetensors(const std::filesystem::path& path, const TensorFile& content);
/// Does the same, but removes the new file instead of moving it into place. Before long work, this
/// shows whether its result could be saved: what it will be called, its notes, its size.
/// @throws std::runtime_error or std::invalid_argument, as `save_safetensors` does
void try_to_save_safetensors(const std::filesystem::path& path, const TensorFile& content);

/// Reads a safetensors file. Tensors of rank 0 to 4 and of the types F32, F64, F16 and BF16 are
/// converted to `Real`, which is exact unless F64 becomes float.
///
/// Everything is checked before it is used: the header's length, JSON, names, types, shapes against
/// sizes, offsets (no holes, no overlaps), and the file's length.
/// @throws std::runtime_error naming the file and what is wrong with it
TensorFile load_safetensors(const std::filesystem::path& path);
// [index]
/// A tensor in the bytes of a file.
struct TensorPlace {
    std::string_view dtype;  ///< F32, F64, F16 or BF16
    Shape shape;
    const char* data;
};
/// Where the tensors of a safetensors file lie, and its notes.
struct TensorIndex {
    std::map<std::string, TensorPlace> tensors;
    std::map<std::string, std::string> metadata;
};
/// Checks the bytes of a file as `load_safetensors` does.
/// @throws std::invalid_argument saying what is wrong
TensorIndex index_safetensors(std::string_view file);

}  // namespace abh
