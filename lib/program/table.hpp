#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "lib/io/results.hpp"

namespace abh {
// [column]
/// A column of a `Table`.
struct Column {
    std::string heading;
    /// How cells are printed: `[<][width][.digits type]`, such as "<24", "8" or "8.2f". Cells stand
    /// to the right, with `<` to the left. A column is at least as wide as its heading.
    std::string format;
    /// The name in the results, in which `{}` stands for the row's key: `{}_ms` or `spread_{}`.
    /// Empty: the column is printed only.
    std::string record = "";
    bool varies = false;  ///< between machines
    std::string unit = "";
};

/// A column of numbers that depend on the machine.
Column varying(std::string heading, std::string format, std::string record = "",
               std::string unit = "");
// [table]
/// Prints rows under headings, and records their values in the results.
///
///     Table table(results, {{"sentences", "8"},
///                           varying("ms a sentence", "8.2f", "batch_{}_ms", "ms"),
///                           {"parameters", "12", "batch_{}_parameters"}});
///     table.row(n, n, ms, parameters);
class Table {
public:
    /// Prints the headings. @throws std::invalid_argument if `record` has no `{}`
    Table(Results& results, std::vector<Column> columns, std::FILE* out = stdout);

    /// Prints one value in each column. Text in a column of numbers is aligned as they are; `""`
    /// leaves a cell empty and records nothing.
    /// @param key  tells this row's names in the results from those of the others
    /// @throws std::invalid_argument if there is not one value for each column
    template <class Key, class... Values>
    void row(const Key& key, const Values&... values) {
        print_row(fmt::format("{}", key), {cell(values)...}, false);
    }
    /// Marks the row as disturbed if it is, here and in the results.
    template <class Key, class... Values>
    void measured_row(bool disturbed, const Key& key, const Values&... values) {
        print_row(fmt::format("{}", key), {cell(values)...}, disturbed);
    }

private:
    using Cell = std::variant<double, std::string>;

    template <class T>
    static Cell cell(const T& value) {
        if constexpr (std::is_arithmetic_v<T>)
            return static_cast<double>(value);
        else
            return fmt::format("{}", value);
    }

    struct Formats {
        std::string text, number;
    };

    void print_row(const std::string& key, const std::vector<Cell>& cells, bool disturbed);
    void print_line(const std::vector<std::string>& texts) const;

    Results* results_;
    std::vector<Column> columns_;
    std::vector<Formats> formats_;
    std::FILE* out_;
};

}  // namespace abh
