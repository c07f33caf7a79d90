#include "lib/program/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/io/files.hpp"

namespace abh {
// [progress]
void Progress::show(Index done, const std::string& note) {
    const int permille = static_cast<int>(1000 * done / std::max<Index>(total_, 1));
    if (permille == shown_permille_ || !::isatty(STDERR_FILENO)) return;
    constexpr int width = 32;
    const std::string bar(static_cast<std::size_t>(width * permille / 1000), '#');
    std::fflush(stdout);
    fmt::print(stderr, "\r\x1b[K{} [{:<{}}] {:3d} % {}", what_, bar, width, permille / 10, note);
    shown_permille_ = permille;
}

void Progress::clear() {
    if (shown_permille_ < 0) return;
    std::fputs("\r\x1b[K", stderr);
    shown_permille_ = -1;
}
// [numbers]
void Results::save() const {
    if (folder_.empty()) return;
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, entry] : entries_) {
        nlohmann::json& item = object[name];
        std::visit([&](const auto& value) { item["value"] = value; }, entry.value);
        item["unit"] = entry.unit;
        item["varies"] = entry.varies;
        if (entry.disturbed) item["disturbed"] = true;
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
    if (folder_.empty()) return;
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
    const auto length =
        static_cast<std::uint16_t>(header.size());  // little-endian, like this machine
    file.write(&length, sizeof length);
    file.write(header);
    file.write(values.data(), static_cast<std::size_t>(values.size()) * sizeof(T));
    file.commit();
}
template void Results::array(const std::string&, const Tensor&) const;
template void Results::array(const std::string&, const Ids&) const;
template void Results::array(const std::string&, const Mask&) const;
// [column]
Column varying(std::string heading, std::string format, std::string record, std::string unit) {
    return {std::move(heading), std::move(format), std::move(record), true, std::move(unit)};
}
// [layout]
Table::Table(Results& results, std::vector<Column> columns)
    : results_(&results), columns_(std::move(columns)) {
    std::vector<std::string> headings;
    for (const auto& [heading, format, record, varies, unit] : columns_) {
        require(record.empty() || record.find("{}") != record.npos,
                "table: column {} is recorded as {}, expected a name with {{}}", heading, record);
        const bool left = format.starts_with('<');
        const auto width = static_cast<std::size_t>(std::atoi(format.c_str() + left));
        formats_.push_back(
            fmt::format("{{:{}{}}}", left ? '<' : '>', std::max(width, heading.size())));
        headings.push_back(heading);
    }
    print_line(headings);
}
// [rows]
void Table::print_row(const std::string& key, const std::vector<Value>& cells, bool disturbed) {
    require(cells.size() == columns_.size(), "table: {} values in row {}, expected {}",
            cells.size(), key, columns_.size());
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Column& column = columns_[i];
        const auto* const text = std::get_if<std::string>(&cells[i]);
        texts.push_back(text ? *text
                             : fmt::format(fmt::runtime("{:" + column.format + "}"),
                                           std::get<double>(cells[i])));
        if (column.record.empty() || (text && text->empty())) continue;
        const std::string name = fmt::format(fmt::runtime(column.record), key);
        if (column.varies)
            results_->set_varying(name, cells[i], text ? "" : column.unit, disturbed);
        else
            results_->set(name, cells[i]);
    }
    if (disturbed) texts.push_back("disturbed");
    print_line(texts);
}

void Table::print_line(const std::vector<std::string>& texts) const {
    std::string line;
    for (std::size_t i = 0; i < texts.size(); ++i)  // a mark may follow the last column
        line +=
            fmt::format(fmt::runtime(i < formats_.size() ? formats_[i] : "{}"), texts[i]) + "  ";
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
}

}  // namespace abh
