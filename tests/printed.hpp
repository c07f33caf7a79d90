#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "lib/io/files.hpp"
#include "tests/support.hpp"

/// What `f` writes to descriptor 1, the standard output, or 2, that of errors.
template <class F>
std::string written_to(int descriptor, const F& f) {
    const Folder folder;
    std::FILE* const stream = descriptor == STDOUT_FILENO ? stdout : stderr;
    std::fflush(stream);
    const int kept = ::dup(descriptor);
    const int file = ::open((folder / "written").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(file, descriptor);
    f();
    std::fflush(stream);
    ::dup2(kept, descriptor);
    ::close(file);
    ::close(kept);
    return abh::read_file(folder / "written");
}
