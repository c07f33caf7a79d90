#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace abh {
// [mapped file]
/// A file's bytes where the system keeps them, for reading: a page of the file is read when
/// somebody first looks at it, and can be dropped again, so a file may be larger than what a
/// program holds in memory. Nobody may cut the file short meanwhile.
class MappedFile {
public:
    /// @throws std::runtime_error naming path and reason: not a regular file, empty, a git-lfs
    ///         pointer
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

}  // namespace abh
