#pragma once

// What the fuzzers share. Each has a function `meet`, which must survive all bytes: what is wrong
// with them is said by a std::runtime_error or std::invalid_argument, in one line that is safe to
// print.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lib/storage.hpp"

namespace abh::fuzz {

inline const bool memory_is_checked = (memory::check(), true);

void meet(std::string_view bytes);

/// A folder in memory, which goes away with the program.
class MemoryFolder {
public:
    MemoryFolder() {
        std::string name = "/dev/shm/abhXXXXXX";
        if (!::mkdtemp(name.data())) std::abort();
        path_ = name;
    }
    ~MemoryFolder() { std::filesystem::remove_all(path_); }
    MemoryFolder(const MemoryFolder&) = delete;
    MemoryFolder& operator=(const MemoryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    /// Writes a file in it anew.
    std::filesystem::path put(const char* name, std::string_view content) const {
        std::ofstream(path_ / name, std::ios::binary) << content;
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};
inline const MemoryFolder folder;

/// A safetensors file of these bytes. What begins with { is a header, a line feed and the numbers
/// behind it, and gets the length that a header needs, so that a change to the header need not be
/// undone by chance.
inline std::string tensor_file(std::string_view bytes) {
    if (!bytes.starts_with('{')) return std::string(bytes);
    const std::string_view header = bytes.substr(0, bytes.find('\n'));
    std::string file;
    for (std::uint64_t length = header.size(), i = 0; i < 8; ++i, length >>= 8)
        file += static_cast<char>(length & 0xFF);
    file += header;
    if (header.size() < bytes.size()) file += bytes.substr(header.size() + 1);
    return file;
}

/// Ends the program with a message, which the fuzzer reports with the bytes that led here.
[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

inline void expect(bool holds, const char* what) {
    if (!holds) fail(what);
}

/// Calls `f`, which may refuse in the agreed way. Returns whether it did not.
template <class F>
bool accepted(const F& f) {
    try {
        f();
        return true;
    } catch (const std::invalid_argument& error) {
        expect(*error.what() != 0, "an error says nothing");
    } catch (const std::runtime_error& error) {
        expect(*error.what() != 0, "an error says nothing");
    }
    return false;
}

}  // namespace abh::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    abh::fuzz::meet({reinterpret_cast<const char*>(data), size});
    return 0;
}
