#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

/// Holds what is printed into `file()`.
class Printed {
public:
    Printed() : file_(::open_memstream(&text_, &size_)) {
        if (!file_) throw std::runtime_error("open_memstream failed");
    }
    ~Printed() {
        std::fclose(file_);
        std::free(text_);
    }
    Printed(const Printed&) = delete;
    Printed& operator=(const Printed&) = delete;

    std::FILE* file() const { return file_; }
    std::string text() const {
        std::fflush(file_);
        return {text_, size_};
    }

private:
    char* text_ = nullptr;
    std::size_t size_ = 0;
    std::FILE* file_;
};
