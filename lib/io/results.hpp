#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <variant>

#include "lib/tensor.hpp"

namespace abh {
// [results]
/// What a program found out, for the pages and figures of the book: named numbers and texts in
/// `results.json`, arrays in `.npy` files, all in one folder. Without a folder nothing is written.
class Results {
public:
    Results() = default;
    explicit Results(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// A number or text that is the same on every machine, up to rounding.
    /// @param within  how far two machines may lie apart, relative to the larger number, where
    ///                rounding grows on the way; 0: no further than a few sums take them
    void set(const std::string& name, double value, double within = 0) {
        entries_[name] = {.value = value, .within = within};
    }
    void set(const std::string& name, const std::string& text) { entries_[name] = {text}; }
    /// A number that depends on the machine, such as a time or a round-off, with its unit.
    /// @param disturbed  the measurement was disturbed, and supports no conclusion
    void set_varying(const std::string& name, double value, const std::string& unit = "",
                     bool disturbed = false) {
        entries_[name] = {value, unit, true, disturbed};
    }
    /// A text that depends on the machine, such as the name of what is slowest there.
    void set_varying(const std::string& name, const std::string& text) {
        entries_[name] = {text, "", true};
    }
    /// An array, as `NAME.npy`.
    template <class T>
    void array(const std::string& name, const BasicTensor<T>& values) const;

    /// Makes the folder and tries to write in it, so that hours of work do not end in an error.
    /// @throws std::runtime_error if that fails
    void require_writable() const;
    /// Writes `results.json`. @throws std::runtime_error if it cannot be written
    void save() const;
    bool wanted() const { return !folder_.empty(); }
    const std::filesystem::path& folder() const { return folder_; }

private:
    struct Entry {
        std::variant<double, std::string> value;
        std::string unit = "";
        bool varies = false;
        bool disturbed = false;
        double within = 0;
    };

    std::filesystem::path folder_;
    std::map<std::string, Entry> entries_;
};

}  // namespace abh
