#include "lib/io/files.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "lib/io/text.hpp"

namespace abh {
// [refusal]
namespace {

std::string message(int error) {
    return std::generic_category().message(error);
}

}  // namespace

void cannot(const char* verb, const std::filesystem::path& path, const std::string& why) {
    const std::string reason = why.empty() ? message(errno) : why;
    throw std::runtime_error(
        fmt::format("cannot {} {}: {}", verb, printable(path.string()), reason));
}
// [atomic file]
AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code unknown, error;
    for (int links = 0; std::filesystem::is_symlink(path_, unknown); ++links) {
        if (links == 40) cannot("write", path_, message(ELOOP));
        path_ = path_.parent_path() / std::filesystem::read_symlink(path_, unknown);
    }
    beside_ = path_.string() + ".part" + std::to_string(::getpid());
    if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
    if (error) cannot("write", path_, error.message());
    if (std::filesystem::is_directory(path_, unknown)) cannot("write", path_, message(EISDIR));
    if (std::filesystem::is_other(path_, unknown)) cannot("write", path_, "not a regular file");
    file_.reset(std::fopen(beside_.c_str(), "wb"));
    if (!file_) cannot("write", path_);
}

AtomicFile::~AtomicFile() {
    if (!file_) return;
    file_.reset();
    std::error_code ignored;
    std::filesystem::remove(beside_, ignored);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
    if (bytes && std::fwrite(data, 1, bytes, file_.get()) != bytes) cannot("write", path_);
}

void AtomicFile::flush() {
    if (std::fflush(file_.get()) != 0) cannot("write", path_);
}

void AtomicFile::commit() {
    flush();
    if (::fsync(::fileno(file_.get())) != 0) cannot("write", path_);
    if (std::rename(beside_.c_str(), path_.c_str()) != 0) cannot("write", path_);
    if (std::fclose(file_.release()) != 0) cannot("write", path_);
}

// [read]
std::string read_file(const std::filesystem::path& path, std::size_t most_bytes) {
    const File file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) cannot("read", path);
    std::string content;
    char buffer[1 << 16];
    while (content.size() <= most_bytes) {
        const std::size_t n = std::fread(buffer, 1, sizeof buffer, file.get());
        if (n == 0) break;
        content.append(buffer, n);
    }
    if (std::ferror(file.get())) cannot("read", path);
    if (content.size() > most_bytes)
        cannot("read", path, fmt::format("it has more than {} bytes, the limit", most_bytes));
    if (content.starts_with("version https://git-lfs.github.com/"))
        cannot("read", path, foreign_kind(content));
    return content;
}

}  // namespace abh
