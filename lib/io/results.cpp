#include "lib/io/results.hpp"

#include <nlohmann/json.hpp>

#include "lib/io/files.hpp"

namespace abh {
// [numbers]
void Results::require_writable() const {
    if (wanted()) AtomicFile probe(folder_ / "results.json");  // not committed: leaves nothing
}

void Results::save() const {
    if (!wanted()) return;
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, entry] : entries_) {
        nlohmann::json& item = object[name];
        std::visit([&](const auto& value) { item["value"] = value; }, entry.value);
        item["unit"] = entry.unit;
        item["varies"] = entry.varies;
        if (entry.disturbed) item["disturbed"] = true;
        if (entry.within > 0) item["within"] = entry.within;
    }
    AtomicFile file(folder_ / "results.json");
    file.write(object.dump(1) + "\n");
    file.commit();
}
// [arrays]
/// The `.npy` format, version 1.0: magic, length of the header, header, elements. The header is a
/// Python dict, padded so that the elements begin at a multiple of 64 bytes.
template <class T>
void Results::array(const std::string& name, const BasicTensor<T>& values) const {
    if (!wanted()) return;
    const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
    std::string shape;
    for (int axis = 0; axis < values.rank(); ++axis) shape += fmt::format("{}, ", values.dim(axis));
    std::string header =
        fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}), }}",
                    sizeof(T) == 1 ? '|' : '<', kind, sizeof(T), shape);
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
    header += '\n';

    AtomicFile file(folder_ / (name + ".npy"));
    file.write(std::string_view("\x93NUMPY\x01\x00", 8));
    const char length[2] = {static_cast<char>(header.size() & 0xff),
                            static_cast<char>(header.size() >> 8)};
    file.write(length, 2);
    file.write(header);
    file.write(values.data(), static_cast<std::size_t>(values.size()) * sizeof(T));
    file.commit();
}
template void Results::array(const std::string&, const Tensor&) const;
template void Results::array(const std::string&, const Ids&) const;
template void Results::array(const std::string&, const Mask&) const;

}  // namespace abh
