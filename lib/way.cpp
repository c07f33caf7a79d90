#include "lib/way.hpp"

#include <fmt/core.h>

#include <stdexcept>

#include "lib/device.hpp"

namespace abh {
// [way]
constexpr std::array names{"plain", "fast", "cuda"};  // in the order of Way

void set_way(Way way) {
    static bool open = false;
    if (way == Way::cuda && !open) {
        cuda::device().open();
        open = true;
    }
    detail::current_way = way;
}

Way way_named(const std::string& name) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (name == names[i]) return static_cast<Way>(i);
    throw std::invalid_argument(
        fmt::format("way: '{}' is unknown, expected plain, fast or cuda", name));
}

const char* to_string(Way way) {
    return names[static_cast<std::size_t>(way)];
}

}  // namespace abh
