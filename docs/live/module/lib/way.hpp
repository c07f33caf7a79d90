// The way plain alone, before lib/way.hpp among the include folders. The tables of ways are
// constants, so the functions that are left out here need not exist.
#pragma once

#define Ways EveryWay
#include "../../../../lib/way.hpp"
#undef Ways

namespace abh {

template <class F>
struct Ways {
    template <class... Others>
    constexpr Ways(const char*, F* f, Others...) : plain(f) {}
    F* plain;

    template <class... A>
    auto operator()(A&&... arguments) const {
        return plain(std::forward<A>(arguments)...);
    }
};

}  // namespace abh
