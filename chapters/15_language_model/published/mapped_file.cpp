#include "chapters/15_language_model/published/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/io/files.hpp"

namespace abh {
// [mapped file]
MappedFile::MappedFile(const std::filesystem::path& path) {
    std::error_code unknown;
    if (std::filesystem::is_other(path, unknown)) cannot("read", path, "not a regular file");
    const File file(std::fopen(path.c_str(), "rb"), std::fclose);
    struct stat about = {};
    if (!file || ::fstat(::fileno(file.get()), &about) != 0) cannot("read", path);
    // folders and pointers of git-lfs, which are never longer, are refused by read_file
    if (S_ISDIR(about.st_mode) || about.st_size < 1024)
        if (read_file(path).empty()) cannot("read", path, "it is empty");
    const auto size = static_cast<std::size_t>(about.st_size);
    void* const pages =
        ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, ::fileno(file.get()), 0);  // stay when closed
    if (pages == MAP_FAILED) cannot("read", path);
    bytes_ = {static_cast<const std::byte*>(pages), size};
}

MappedFile::~MappedFile() {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace abh
