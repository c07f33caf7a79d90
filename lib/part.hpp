#pragma once

#include <cstddef>

namespace abh {
// [part]
/// Where a part of the cache is kept, or null where nothing is: `part(cache, &Cache::norm1)`.
template <class Cache, class Owner, class Part>
Part* part(Cache* cache, Part Owner::*member) {
    return cache ? &(cache->*member) : nullptr;
}
/// The same for element `i` of a vector that has it: `part(part(cache, &Cache::layers), i)`.
template <class Vector>
typename Vector::value_type* part(Vector* vector, std::size_t i) {
    return vector ? &(*vector)[i] : nullptr;
}

}  // namespace abh
