#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace abh {
// [files]
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// A file that appears whole or not at all: it is written under another name in the same folder,
/// and `commit` moves it into place. If anything fails before that, the old file stays, and no
/// other is left behind. If the path is a symbolic link, the file that it leads to is written.
/// Anything but a regular file, such as /dev/null, is refused, because it would be replaced.
class AtomicFile {
public:
    /// Creates the folder if necessary. @throws std::runtime_error naming path and reason
    explicit AtomicFile(std::filesystem::path path);
    ~AtomicFile();

    /// @throws std::runtime_error naming path and reason, such as a full disk
    void write(const void* data, std::size_t bytes);
    void write(std::string_view text) { write(text.data(), text.size()); }
    /// Hands everything to the system, which says whether there is room for it.
    /// @throws std::runtime_error as `write` does
    void flush();
    /// Moves the file into place; nothing can be written afterwards.
    /// @throws std::runtime_error as `write` does
    void commit();

private:
    std::filesystem::path path_, beside_;
    File file_{nullptr, std::fclose};
};

/// Throws std::runtime_error: `cannot read FILE: No such file or directory`.
/// @param why  the reason; if empty, the one that errno gives
[[noreturn]] void cannot(const char* verb, const std::filesystem::path& path,
                         const std::string& why = {});

/// The whole content of a file. A file of more than `most_bytes` and a git-lfs pointer are refused.
/// @throws std::runtime_error naming path and reason
std::string read_file(const std::filesystem::path& path,
                      std::size_t most_bytes = std::numeric_limits<std::size_t>::max());
// [bytes]
/// Converts numbers to bytes in this machine's order, to send them to another process, and back.
template <class T>
std::string to_bytes(const std::vector<T>& numbers) {
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

template <class T>
std::vector<T> from_bytes(const std::string& bytes) {
    std::vector<T> numbers(bytes.size() / sizeof(T));
    std::copy_n(bytes.data(), numbers.size() * sizeof(T), reinterpret_cast<char*>(numbers.data()));
    return numbers;
}

}  // namespace abh
