#include "lib/io/results.hpp"

#include <nlohmann/json.hpp>

#include "lib/io/files.hpp"

namespace abh {
// [numbers]
void Results::set_varying(const std::string& name, double value, const std::string& unit,
                          bool disturbed) {
    entries_[name] = {value, unit, true, disturbed};
}

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
namespace {

/// The `.npy` format, version 1.0: magic, length of the header, header, elements. The header is a
/// Python dict, padded so that the elements begin at a multiple of 64 bytes.
template <class T>
void save_npy(const std::filesystem::path& path, const char* descr, const BasicTensor<T>& t) {
    std::string shape;
    for (int axis = 0; axis < t.rank(); ++axis) shape += std::to_string(t.dim(axis)) + ", ";
    std::string header = std::string("{'descr': '") + descr +
                         "', 'fortran_order': False, 'shape': (" + shape + "), }";
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
    header += '\n';

    AtomicFile file(path);
    file.write(std::string_view("\x93NUMPY\x01\x00", 8));
    const char length[2] = {static_cast<char>(header.size() & 0xff),
                            static_cast<char>(header.size() >> 8)};
    file.write(length, 2);
    file.write(header);
    file.write(t.data(), static_cast<std::size_t>(t.size()) * sizeof(T));
    file.commit();
}

}  // namespace

void Results::array(const std::string& name, const Tensor& values) const {
    if (wanted()) save_npy(folder_ / (name + ".npy"), sizeof(Real) == 4 ? "<f4" : "<f8", values);
}

void Results::array(const std::string& name, const Ids& values) const {
    if (wanted()) save_npy(folder_ / (name + ".npy"), "<i4", values);
}

void Results::array(const std::string& name, const Mask& values) const {
    if (wanted()) save_npy(folder_ / (name + ".npy"), "|u1", values);
}

}  // namespace abh
