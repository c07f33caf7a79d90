#pragma once

#include <cstddef>

namespace abh {
// [part]
/// A pointer to one part of the cache, or null if no cache is kept: `part(cache, &Cache::norm1)`.
template <class Cache, class Owner, class Part>
Part* part(Cache* cache, Part Owner::*member) {
    return cache ? &(cache->*member) : nullptr;
}
/// The same for element `i` of a long enough vector: `part(part(cache, &Cache::layers), i)`.
template <class Vector>
typename Vector::value_type* part(Vector* vector, std::size_t i) {
    return vector ? &(*vector)[i] : nullptr;
}

}  // namespace abh
