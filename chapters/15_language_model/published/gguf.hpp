#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "chapters/15_language_model/published/blocks.hpp"
#include "chapters/15_language_model/published/mapped_file.hpp"

namespace abh {
// [notes]
/// A note of a GGUF file. All kinds of whole numbers become one, so do both of fractions, and
/// a list holds numbers or texts; the truth values of a list are the numbers 0 and 1.
using Note = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                          std::vector<double>, std::vector<std::string>>;
/// The note of this name. @throws std::invalid_argument if it is missing or of another type
template <class T>
const T& note(const std::map<std::string, Note>& notes, const std::string& name) {
    const auto found = notes.find(name);
    require(found != notes.end() && std::holds_alternative<T>(found->second), "the note {} is {}",
            name, found == notes.end() ? "missing" : "of another type than expected");
    return std::get<T>(found->second);
}
// [file]
/// A tensor in a mapped file. Sizes are outermost first, as everywhere in this book.
struct StoredTensor {
    NumberKind kind;
    Shape shape;
    const std::byte* data;  ///< all its blocks lie within the file
};

/// What a file of weights holds.
struct WeightFile {
    std::shared_ptr<const MappedFile> file;
    std::map<std::string, Note> notes;  ///< of GGUF only
    std::map<std::string, StoredTensor> tensors;

    /// @throws std::invalid_argument naming the tensor if it is missing or has another shape
    const StoredTensor& at(const std::string& name, const Shape& shape) const;
};
// [open]
/// Opens a GGUF file (version 2 or 3), of which only notes and places of tensors are read now.
/// Everything is checked before it is used: counts and lengths against the file's size, names,
/// types, shapes, alignment, offsets without overlaps. Notes and places may take 64 MiB.
/// @throws std::runtime_error naming the file and what is wrong with it: a type of number that is
///         not one of `NumberKind`'s by its name, such as Q6_K
WeightFile open_gguf(const std::filesystem::path& path);
/// The same for a safetensors file with numbers in F32, F16 or BF16.
WeightFile open_safetensors(const std::filesystem::path& path);
/// The same from the bytes of a file, which must outlive what is found in them; `file` stays null.
/// @throws std::invalid_argument saying what is wrong
WeightFile read_gguf(std::span<const std::byte> bytes);
WeightFile read_safetensors(std::span<const std::byte> bytes);

}  // namespace abh
