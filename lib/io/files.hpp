#pragma once

#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

namespace abh {
// [files]
/// A file that appears whole or not at all: it is written beside its place under another name, and
/// `commit` moves it there. If anything fails before, what stood there stays, and nothing is left.
/// Where a symbolic link stands, the file that it leads to is written. What is no file, as
/// /dev/null, is refused: it would be replaced.
class AtomicFile {
public:
    /// Makes the folder if need be. @throws std::runtime_error naming path and reason
    explicit AtomicFile(std::filesystem::path path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// @throws std::runtime_error naming path and reason, a full disk for instance
    void write(const void* data, std::size_t bytes);
    void write(std::string_view text) { write(text.data(), text.size()); }
    /// Puts the file in its place; nothing can be written after.
    /// @throws std::runtime_error as `write` does
    void commit();

private:
    std::filesystem::path path_, beside_;
    std::FILE* file_ = nullptr;
};

/// The whole content of a file, of at most so many bytes, and no pointer of git-lfs in its place.
/// @throws std::runtime_error naming path and reason
std::string read_file(const std::filesystem::path& path,
                      std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

}  // namespace abh
