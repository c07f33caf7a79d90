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

/// A file that appears whole or not at all: it is written beside its place under another name, and
/// `commit` moves it there. If anything fails before, what stood there stays, and nothing is left.
/// Where a symbolic link stands, the file that it leads to is written. What is no file, as
/// /dev/null, is refused: it would be replaced.
class AtomicFile {
public:
    /// Makes the folder if need be. @throws std::runtime_error naming path and reason
    explicit AtomicFile(std::filesystem::path path);
    ~AtomicFile();

    /// @throws std::runtime_error naming path and reason, a full disk for instance
    void write(const void* data, std::size_t bytes);
    void write(std::string_view text) { write(text.data(), text.size()); }
    /// Puts the file in its place; nothing can be written after.
    /// @throws std::runtime_error as `write` does
    void commit();

private:
    std::filesystem::path path_, beside_;
    File file_{nullptr, std::fclose};
};

/// The whole content of a file, of at most so many bytes, and no pointer of git-lfs in its place.
/// @throws std::runtime_error naming path and reason
std::string read_file(const std::filesystem::path& path,
                      std::size_t most_bytes = std::numeric_limits<std::size_t>::max());
// [bytes]
/// Numbers as bytes in the order of this machine, on their way to another process, and back.
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
