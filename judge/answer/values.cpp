#include "judge/answer/values.hpp"

#include <cstring>

namespace abh::judge {
namespace {

template <class T>
void put(std::string& bytes, const T* first, std::size_t n) {
    bytes.append(reinterpret_cast<const char*>(first), n * sizeof(T));
}

template <class T>
void take(const std::string& bytes, std::size_t& at, T* first, std::size_t n) {
    if (n > (bytes.size() - at) / sizeof(T)) throw std::runtime_error("a message ends early");
    if (n > 0) std::memcpy(first, bytes.data() + at, n * sizeof(T));
    at += n * sizeof(T);
}

}  // namespace

std::string to_bytes(const Values& list) {
    std::string bytes;
    const auto count = static_cast<std::uint32_t>(list.size());
    put(bytes, &count, 1);
    for (const Value& v : list) {
        std::vector<Index> sizes = v.shape;
        if (v.kind == 'S') sizes = {static_cast<Index>(v.text.size())};
        const auto rank = static_cast<char>(sizes.size());
        put(bytes, &v.kind, 1);
        put(bytes, &rank, 1);
        put(bytes, sizes.data(), sizes.size());
        put(bytes, v.reals.data(), v.reals.size());
        put(bytes, v.whole.data(), v.whole.size());
        bytes += v.text;
    }
    return bytes;
}

Values from_bytes(const std::string& bytes) {
    std::size_t at = 0;
    std::uint32_t count = 0;
    take(bytes, at, &count, 1);
    Values list;
    for (std::uint32_t i = 0; i < count; ++i) {
        Value v;
        char rank = 0;
        take(bytes, at, &v.kind, 1);
        take(bytes, at, &rank, 1);
        v.shape.resize(static_cast<std::size_t>(rank));
        take(bytes, at, v.shape.data(), v.shape.size());
        std::size_t size = 1;
        for (const Index n : v.shape) size *= static_cast<std::size_t>(n);
        if (size > bytes.size()) throw std::runtime_error("a message ends early");
        if (v.kind == 'S') {
            v.text.resize(size);
            take(bytes, at, v.text.data(), size);
            v.shape.clear();
        } else if (v.kind == 'T' || v.kind == 'R') {
            v.reals.resize(size);
            take(bytes, at, v.reals.data(), size);
        } else {
            v.whole.resize(size);
            take(bytes, at, v.whole.data(), size);
        }
        list.push_back(std::move(v));
    }
    return list;
}

}  // namespace abh::judge
