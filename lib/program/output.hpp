#pragma once

#include <string>

#include "lib/tensor.hpp"

namespace abh {
// [output]
/// Prints an empty line and `== title ==`.
void section(const std::string& title);

/// A bar on the terminal's last line while long work goes on; nothing where the output is a file.
class Progress {
public:
    Progress(std::string what, Index total);
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Shows that `done` of `total` is reached.
    void show(Index done, const std::string& note = "");
    /// Takes the bar away so that a line can be printed.
    void clear();

private:
    std::string what_;
    Index total_;
    bool terminal_;
    int shown_permille_ = -1;  ///< -1: there is no bar
};

}  // namespace abh
