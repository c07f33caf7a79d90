#include "lib/io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/eigen.hpp"
#include "lib/io/files.hpp"
#include "lib/io/text.hpp"

namespace abh {
// [format]
// 8 bytes: N, little-endian; N bytes: a JSON object name -> {dtype, shape, data_offsets}, padded
// with spaces to a multiple of 8; then the elements of all tensors, without holes.
static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

namespace {

using nlohmann::json;

// [header]
constexpr const char* real_dtype = sizeof(Real) == 4 ? "F32" : "F64";

std::string header_of(const TensorFile& content) {
    for (const auto& [name, text] : content.metadata)
        require(is_utf8(text), "safetensors: the note {} is not UTF-8 at byte {}: {}", name,
                find_bad_utf8(text) + 1, printable(text, 60));
    json header = json::object();
    if (!content.metadata.empty()) header["__metadata__"] = content.metadata;
    std::uint64_t offset = 0;
    for (const auto& [name, tensor] : content.tensors) {
        json shape = json::array();
        for (int axis = 0; axis < tensor.rank(); ++axis) shape.push_back(tensor.dim(axis));
        const std::uint64_t end = offset + static_cast<std::uint64_t>(tensor.size()) * sizeof(Real);
        header[name] = {{"dtype", real_dtype}, {"shape", shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
}
// [save]
void write(AtomicFile& file, const TensorFile& content) {
    const std::string header = header_of(content);
    const std::uint64_t length = header.size();
    file.write(&length, sizeof length);
    file.write(header);
    for (const auto& [name, tensor] : content.tensors)  // in the order of the offsets
        file.write(tensor.data(), static_cast<std::size_t>(tensor.size()) * sizeof(Real));
}

}  // namespace

void save_safetensors(const std::filesystem::path& path, const TensorFile& content) {
    AtomicFile file(path);
    write(file, content);
    file.commit();
}

void try_to_save_safetensors(const std::filesystem::path& path, const TensorFile& content) {
    AtomicFile file(path);
    write(file, content);
    file.flush();
}
// [load: data]
namespace {

/// Reads elements of type `T`, which may begin anywhere, as `Real`.
template <class T>
Tensor read_elements(const Shape& shape, const char* bytes) {
    Tensor tensor(shape);
    Real* const to = tensor.data();
    for (Index i = 0; i < tensor.size(); ++i) {
        T value;
        std::memcpy(&value, bytes + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
        to[i] = static_cast<Real>(value);
    }
    return tensor;
}

/// An element type that we can read.
struct Dtype {
    std::string_view name;
    std::uint64_t bytes;  ///< per element
    Tensor (*read)(const Shape&, const char* bytes);
};
constexpr std::array dtypes{
    Dtype{"F32", 4, read_elements<float>}, Dtype{"F64", 8, read_elements<double>},
    Dtype{"F16", 2, read_elements<Eigen::half>}, Dtype{"BF16", 2, read_elements<Eigen::bfloat16>}};

Tensor read(const TensorPlace& place) {
    const auto named = [&](const Dtype& d) { return place.dtype == d.name; };
    return std::ranges::find_if(dtypes, named)->read(place.shape, place.data);
}
// [load: header]
constexpr std::size_t most_header_bytes = 100'000'000;  // the reference reader's limit

json parse_header(std::string_view text) {
    require(text.starts_with('{'), "the header does not begin with {{");
    require(text.find('\0') == text.npos, "the header holds a zero byte");
    try {
        return strict_json(text, {.bytes = most_header_bytes, .depth = 3});
    } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(fmt::format("the header is unusable: {}", error.what()));
    }
}
// [load: entries]
/// One tensor's place in the data, according to the header.
struct Entry {
    std::string name;
    const Dtype* dtype;
    Shape shape;
    std::uint64_t begin, end;
};

Entry parse_entry(const std::string& name, const json& item) try {
    const auto numbers = [&](const char* key) {
        const auto found = item.is_object() ? item.find(key) : item.end();
        require(found != item.end() && found->is_array(), "no list {}", key);
        for (const json& number : *found)
            require(number.is_number_unsigned(), "{} holds {}, expected whole numbers >= 0", key,
                    number.dump());
        return found->get<std::vector<std::uint64_t>>();
    };
    const std::vector<std::uint64_t> sizes = numbers("shape"), offsets = numbers("data_offsets");
    const json written = item.value("dtype", json());
    const auto dtype =
        std::ranges::find_if(dtypes, [&](const Dtype& d) { return written == d.name; });
    require(dtype != dtypes.end(), "dtype {}, expected F32, F64, F16 or BF16", written.dump());
    require(offsets.size() == 2 && offsets[0] <= offsets[1],
            "data_offsets {}, expected [begin, end] with begin <= end",
            item["data_offsets"].dump());
    const std::vector<Index> axes(sizes.begin(), sizes.end());
    const Shape shape{
        std::span<const Index>(axes)};  // too large a size is negative there, and refused
    const std::uint64_t needed = static_cast<std::uint64_t>(shape.size()) * dtype->bytes,
                        held = offsets[1] - offsets[0];
    require(needed == held, "shape {} needs {} bytes, data_offsets span {}", shape, needed, held);
    return {name, &*dtype, shape, offsets[0], offsets[1]};
} catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("tensor {}: {}", name, error.what()));
}

}  // namespace
// [load]
TensorIndex index_safetensors(std::string_view file) {
    std::uint64_t length = 0;
    require(file.size() >= 8, "it has {} bytes, expected at least 8", file.size());
    std::memcpy(&length, file.data(), 8);
    require(length <= most_header_bytes && length <= file.size() - 8,
            "header length {} in a file of {} bytes", length, file.size());

    TensorIndex index;
    std::vector<Entry> entries;
    const json header = parse_header(file.substr(8, length));
    for (const auto& [name, item] : header.items()) {
        if (name != "__metadata__") {
            entries.push_back(parse_entry(name, item));
            continue;
        }
        require(item.is_object(), "__metadata__ is not an object");
        for (const auto& [key, value] : item.items()) {
            require(value.is_string(), "__metadata__ {} is not a string", key);
            index.metadata[key] = value.get<std::string>();
        }
    }

    // [load: offsets]
    std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
    const std::string_view data = file.substr(8 + length);
    std::uint64_t position = 0;
    for (const Entry& e : entries) {
        require(e.begin == position && e.end <= data.size(),
                "tensor {} lies at bytes {} to {}, expected to begin at {} and end by {}", e.name,
                e.begin, e.end, position, data.size());
        position = e.end;
        index.tensors[e.name] = {e.dtype->name, e.shape, data.data() + e.begin};
    }
    require(position == data.size(), "bytes after the last tensor: {}, expected none",
            data.size() - position);
    return index;
}

TensorFile load_safetensors(const std::filesystem::path& path) {
    const std::string file = read_file(path);
    try {
        TensorIndex index = index_safetensors(file);
        TensorFile content{.tensors = {}, .metadata = std::move(index.metadata)};
        for (const auto& [name, place] : index.tensors) content.tensors[name] = read(place);
        return content;
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(printable(
            fmt::format("{}: not a usable safetensors file: {}", path.string(), error.what())));
    }
}
// [look up]
const Tensor& TensorFile::at(const std::string& name, const Shape& shape) const {
    const auto found = tensors.find(name);
    require(found != tensors.end(), "tensor {} is missing", name);
    require(found->second.shape() == shape, "tensor {} has shape {}, expected {}", name,
            found->second.shape(), shape);
    return found->second;
}

}  // namespace abh
