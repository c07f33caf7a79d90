#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [output]
/// Prints an empty line and `== title ==`.
inline void section(const std::string& title) {
    fmt::print("\n== {} ==\n", title);
}

/// A progress bar on the terminal's last line; nothing if standard error is not a terminal.
class Progress {
public:
    Progress(std::string what, Index total) : what_(std::move(what)), total_(total) {}
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Shows that `done` of `total` are done.
    void show(Index done, const std::string& note = "");
    /// Removes the bar so that a line can be printed.
    void clear();

private:
    std::string what_;
    Index total_;
    int shown_permille_ = -1;  ///< -1 if there is no bar
};
// [results]
/// What a table and the results hold: a number or a text.
using Value = std::variant<double, std::string>;

/// A number of any type, or the text that fmt makes of something else.
template <class T>
Value value_of(const T& value) {
    if constexpr (std::is_arithmetic_v<T>)
        return static_cast<double>(value);
    else if constexpr (std::is_same_v<T, Value>)
        return value;
    else
        return fmt::format("{}", value);
}

/// What a program has found, for the pages and figures of the book: named numbers and texts in
/// `results.json`, arrays in `.npy` files, all in one folder. Without a folder, nothing is written.
class Results {
public:
    Results() = default;
    explicit Results(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// A number or text that is the same on every machine, up to rounding.
    template <class T>
    void set(const std::string& name, const T& value) {
        entries_[name] = {value_of(value)};
    }
    /// A number or text that depends on the machine: a time, with its unit, or a round-off.
    /// @param disturbed  whether the measurement was disturbed, and so supports no conclusion
    template <class T>
    void set_varying(const std::string& name, const T& value, const std::string& unit = "",
                     bool disturbed = false) {
        entries_[name] = {value_of(value), unit, true, disturbed};
    }
    /// Writes an array to `NAME.npy`.
    template <class T>
    void array(const std::string& name, const BasicTensor<T>& values) const;

    /// Writes `results.json`. @throws std::runtime_error if it cannot be written
    void save() const;

private:
    struct Entry {
        Value value;
        std::string unit = "";
        bool varies = false;
        bool disturbed = false;
    };

    std::filesystem::path folder_;
    std::map<std::string, Entry> entries_;
};
// [column]
/// A column of a `Table`.
struct Column {
    std::string heading;
    /// How cells are printed: `[<][width][.digits type]`, such as "<24", "8" or "8.2f". Cells are
    /// aligned right, or left with `<`. A column is at least as wide as its heading.
    std::string format;
    /// The name in the results, with `{}` in place of the row's key: `{}_ms` or `spread_{}`.
    /// If it is empty, the column is only printed.
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
///                           varying("ms per sentence", "8.2f", "batch_{}_ms", "ms"),
///                           {"parameters", "12", "batch_{}_parameters"}});
///     table.row(n, n, ms, parameters);
class Table {
public:
    /// Prints the headings.
    /// @throws std::invalid_argument if a column is to be recorded under a name without `{}`
    Table(Results& results, std::vector<Column> columns);

    /// Prints one value in each column. Text in a column of numbers is aligned like them; `""`
    /// leaves a cell empty and records nothing.
    /// @param key  replaces `{}` in the names of this row's results
    /// @throws std::invalid_argument unless there is one value for each column
    template <class Key, class... Values>
    void row(const Key& key, const Values&... values) {
        print_row(fmt::format("{}", key), {value_of(values)...}, false);
    }
    /// The same, but marks the row, here and in the results, if its measurement was disturbed.
    template <class Key, class... Values>
    void measured_row(bool disturbed, const Key& key, const Values&... values) {
        print_row(fmt::format("{}", key), {value_of(values)...}, disturbed);
    }

private:
    void print_row(const std::string& key, const std::vector<Value>& cells, bool disturbed);
    void print_line(const std::vector<std::string>& texts) const;

    Results* results_;
    std::vector<Column> columns_;
    std::vector<std::string> formats_;  // for cells that are already text
};

}  // namespace abh
