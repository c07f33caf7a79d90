#include <fmt/core.h>

#include <stdexcept>

#include "chapters/15_language_model/published/gguf.hpp"
#include "lib/io/safetensors.hpp"
#include "lib/io/text.hpp"

namespace abh {
// [safetensors]
WeightFile read_safetensors(std::span<const std::byte> bytes) {
    WeightFile content;
    const TensorIndex index =
        index_safetensors({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    for (const auto& [name, place] : index.tensors) {
        const std::optional<NumberKind> kind = kind_named(place.dtype);
        require(kind.has_value(), "tensor {}: stored as {}; this reader knows F32, F16 and BF16",
                name, place.dtype);
        content.tensors[name] = {*kind, place.shape,
                                 reinterpret_cast<const std::byte*>(place.data)};
    }
    return content;
}
// [open]
namespace {

/// Maps a file and reads its head. @throws std::runtime_error naming the file
WeightFile open(const std::filesystem::path& path, const char* kind,
                WeightFile (*read)(std::span<const std::byte>)) {
    const auto file = std::make_shared<const MappedFile>(path);
    try {
        WeightFile content = read(file->bytes());
        content.file = file;
        return content;
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(printable(
            fmt::format("{}: not a usable {} file: {}", path.string(), kind, error.what())));
    }
}

}  // namespace

WeightFile open_gguf(const std::filesystem::path& path) {
    return open(path, "GGUF", read_gguf);
}

WeightFile open_safetensors(const std::filesystem::path& path) {
    return open(path, "safetensors", read_safetensors);
}
// [look up]
const StoredTensor& WeightFile::at(const std::string& name, const Shape& shape) const {
    const auto found = tensors.find(name);
    require(found != tensors.end(), "tensor {} is missing", name);
    require(found->second.shape == shape, "tensor {} has shape {}, expected {}", name,
            found->second.shape, shape);
    return found->second;
}

}  // namespace abh
