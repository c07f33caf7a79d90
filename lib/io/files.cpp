#include "lib/io/files.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "lib/io/file_kind.hpp"

namespace abh {
// [atomic file]
namespace {

[[noreturn]] void fail(const char* verb, const std::filesystem::path& path,
                       const std::string& why) {
    throw std::runtime_error(fmt::format("cannot {} {}: {}", verb, path.string(), why));
}

[[noreturn]] void fail(const char* verb, const std::filesystem::path& path, int error) {
    fail(verb, path, std::generic_category().message(error));
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code unknown, error;
    for (int links = 0; std::filesystem::is_symlink(path_, unknown); ++links) {
        if (links == 40) fail("write", path_, ELOOP);
        path_ = path_.parent_path() / std::filesystem::read_symlink(path_, unknown);
    }
    beside_ = path_.string() + ".part" + std::to_string(::getpid());
    if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
    if (error) fail("write", path_, error.value());
    if (std::filesystem::is_directory(path_, unknown)) fail("write", path_, EISDIR);
    if (std::filesystem::is_other(path_, unknown)) fail("write", path_, "not a file");
    file_ = std::fopen(beside_.c_str(), "wb");
    if (!file_) fail("write", path_, errno);
}

AtomicFile::~AtomicFile() {
    if (!file_) return;
    std::fclose(file_);
    std::error_code ignored;
    std::filesystem::remove(beside_, ignored);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
    if (bytes && std::fwrite(data, 1, bytes, file_) != bytes) fail("write", path_, errno);
}

void AtomicFile::commit() {
    if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail("write", path_, errno);
    if (std::rename(beside_.c_str(), path_.c_str()) != 0) fail("write", path_, errno);
    std::FILE* const written = std::exchange(file_, nullptr);
    if (std::fclose(written) != 0) fail("write", path_, errno);
}

// [read]
std::string read_file(const std::filesystem::path& path, std::size_t most_bytes) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) fail("read", path, EISDIR);
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    if (!file) fail("read", path, errno);
    std::string content;
    char buffer[1 << 16];
    while (content.size() <= most_bytes) {
        const std::size_t n = std::fread(buffer, 1, sizeof buffer, file);
        if (n == 0) break;
        content.append(buffer, n);
    }
    const int error = std::ferror(file) ? errno : 0;
    std::fclose(file);
    if (error) fail("read", path, error);
    if (content.size() > most_bytes)
        fail("read", path, fmt::format("more than {} bytes, the most that are read", most_bytes));
    if (content.starts_with("version https://git-lfs.github.com/"))
        fail("read", path, foreign_kind(content));
    return content;
}

}  // namespace abh
