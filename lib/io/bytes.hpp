#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace abh {
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
