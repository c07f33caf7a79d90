#include "lib/program/table.hpp"

#include <algorithm>
#include <cstdlib>

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

Table::Table(Results& results, std::vector<Column> columns, std::FILE* out)
    : results_(&results), columns_(std::move(columns)), out_(out) {
    std::vector<std::string> headings;
    for (const auto& [heading, format, record, varies, unit] : columns_) {
        require(record.empty() || record.find("{}") != record.npos,
                "table: column {} is recorded as {}, expected a name with {{}}", heading, record);
        const bool left = format.starts_with('<');
        const std::size_t digits = std::min(format.find_first_not_of("<0123456789"), format.size());
        const auto width = static_cast<std::size_t>(std::atoi(format.c_str() + left));
        formats_.push_back(
            {fmt::format("{{:{}{}}}", left ? '<' : '>', std::max(width, length(heading))),
             "{:" + format.substr(digits) + "}"});
        headings.push_back(heading);
    }
    print_line(headings);
}
// [rows]
void Table::print_row(const std::string& key, const std::vector<Cell>& cells, bool disturbed) {
    require(cells.size() == columns_.size(), "table: {} values in row {}, expected {}",
            cells.size(), key, columns_.size());
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Column& column = columns_[i];
        const auto* const text = std::get_if<std::string>(&cells[i]);
        const double number = text ? 0 : std::get<double>(cells[i]);
        texts.push_back(text ? *text : fmt::format(fmt::runtime(formats_[i].number), number));
        if (column.record.empty() || (text && text->empty())) continue;
        const std::string name = fmt::format(fmt::runtime(column.record), key);
        if (text)
            results_->set(name, *text);
        else if (column.varies)
            results_->set_varying(name, number, column.unit, disturbed);
        else
            results_->set(name, number);
    }
    if (disturbed) texts.push_back("disturbed");
    print_line(texts);
}

void Table::print_line(const std::vector<std::string>& texts) const {
    std::string line;
    for (std::size_t i = 0; i < texts.size(); ++i)  // there may be a mark behind the last column
        line += fmt::format(fmt::runtime(i < formats_.size() ? formats_[i].text : "{}"), texts[i]) +
                "  ";
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print(out_, "{}\n", line);
}

}  // namespace abh
