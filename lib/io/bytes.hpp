#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace abh {
// [bytes]
/// Numbers as bytes in the order of this machine, on their way to another process, and back.
template <class T>
std::string to_bytes(const std::vector<T>& numbers) {
    const std::span bytes = std::as_bytes(std::span(numbers));
    std::string text(bytes.size(), '\0');
    std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(text)).begin());
    return text;
}

template <class T>
std::vector<T> from_bytes(const std::string& bytes) {
    std::vector<T> numbers(bytes.size() / sizeof(T));
    const std::span from = std::as_bytes(std::span(bytes)).first(numbers.size() * sizeof(T));
    std::copy(from.begin(), from.end(), std::as_writable_bytes(std::span(numbers)).begin());
    return numbers;
}

}  // namespace abh
