#include "lib/program/table.hpp"

#include <algorithm>

namespace abh {
// [column]
Column varying(std::string heading, std::string format, std::string record, std::string unit) {
    return {std::move(heading), std::move(format), std::move(record), true, std::move(unit)};
}
// [layout]
namespace {

/// Characters of a text in UTF-8.
std::size_t length(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

}  // namespace

double Table::number(const Cell& cell) {
    const auto* whole = std::get_if<long long>(&cell);
    return whole ? static_cast<double>(*whole) : std::get<double>(cell);
}

Table::Layout Table::layout_of(const Column& column) {
    const std::string& format = column.format;
    require(column.record.empty() || column.record.find("{}") != std::string::npos,
            "table: column {} is recorded as {}, expected a name with {{}}", column.heading,
            column.record);
    const bool left = format.starts_with('<');
    const std::size_t begin = left ? 1 : 0;
    const std::size_t end = std::min(format.find_first_not_of("0123456789", begin), format.size());
    const std::size_t wanted = end > begin ? std::stoul(format.substr(begin, end - begin)) : 0;
    return {left, std::max(wanted, length(column.heading)), format.substr(end)};
}

Table::Table(Results& results, std::vector<Column> columns, std::FILE* out)
    : results_(&results), columns_(std::move(columns)), out_(out) {
    std::vector<std::string> headings;
    for (const Column& column : columns_) {
        layouts_.push_back(layout_of(column));
        headings.push_back(column.heading);
    }
    print_line(headings);
}
// [rows]
void Table::print_row(const std::string& key, const std::vector<Cell>& cells, bool disturbed) {
    require(cells.size() == columns_.size(), "table: {} values in row {}, expected {}",
            cells.size(), key, columns_.size());
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string format = "{:" + layouts_[i].number + "}";
        if (const auto* text = std::get_if<std::string>(&cells[i]))
            texts.push_back(*text);
        else if (const auto* whole = std::get_if<long long>(&cells[i]); whole && format == "{:}")
            texts.push_back(fmt::format("{}", *whole));
        else
            texts.push_back(fmt::format(fmt::runtime(format), number(cells[i])));
        record(columns_[i], key, cells[i], disturbed);
    }
    if (disturbed) texts.push_back("disturbed");
    print_line(texts);
}

void Table::print_line(const std::vector<std::string>& texts) const {
    std::string line;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (i > 0) line += "  ";
        if (i >= layouts_.size())  // a mark behind the last column
            line += texts[i];
        else if (layouts_[i].left)
            line += fmt::format("{:<{}}", texts[i], layouts_[i].width);
        else
            line += fmt::format("{:>{}}", texts[i], layouts_[i].width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print(out_, "{}\n", line);
}

void Table::record(const Column& column, const std::string& key, const Cell& cell, bool disturbed) {
    if (column.record.empty()) return;
    const std::string name = fmt::format(fmt::runtime(column.record), key);
    if (const auto* text = std::get_if<std::string>(&cell)) {
        if (!text->empty()) results_->set(name, *text);
    } else if (column.varies) {
        results_->set_varying(name, number(cell), column.unit, disturbed);
    } else {
        results_->set(name, number(cell));
    }
}

}  // namespace abh
