#pragma once

#include <array>
#include <string>
#include <utility>

namespace abh {
// [way]
/// How an operation is computed: as its equation says, tuned for the processor, or on the device.
enum class Way { plain, fast, cuda };

namespace detail {
inline Way current_way = Way::fast;
}

/// The way in which operations are computed; `fast` at the start.
inline Way way() {
    return detail::current_way;
}
/// Sets the way of all operations from here on. Call it from one thread, while no operation runs.
/// @throws std::runtime_error in one line for `cuda` if the machine or this build has no device
void set_way(Way way);
/// The way called `plain`, `fast` or `cuda`. @throws std::invalid_argument naming any other
Way way_named(const std::string& name);
const char* to_string(Way way);
// [scoped way]
/// Sets another way until the end of the block, so that backward follows its cache's way.
class ScopedWay {
public:
    explicit ScopedWay(Way way) : before_(abh::way()) {
        if (way != before_) set_way(way);
    }
    ~ScopedWay() {
        if (abh::way() != before_) detail::current_way = before_;
    }
    ScopedWay(const ScopedWay&) = delete;
    ScopedWay& operator=(const ScopedWay&) = delete;

private:
    Way before_;
};
// [timed]
/// The functions that are called when an operation begins and ends, for a profile.
struct Observer {
    void (*begin)(const char* operation);
    void (*end)();
};
namespace detail {
inline const Observer* observer = nullptr;
}

/// Tells the observer, if there is one, when its block begins and ends.
class Timed {
public:
    /// @param name  a string literal, because it is kept, not copied
    explicit Timed(const char* name) : observer_(detail::observer) {
        if (observer_) observer_->begin(name);
    }
    ~Timed() {
        if (observer_) observer_->end();
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

private:
    const Observer* observer_;
};
// [threads]
/// Sets how many threads fast ways use, including the calling one. 1 at the start.
/// @throws std::invalid_argument unless 1 <= n <= 256
void set_threads(int n);
int threads();
// [ways]
/// The functions that compute one operation, all of the same signature. A way that is left out uses
/// the function of the way before it.
template <class F>
struct Ways {
    const char* name;  ///< in a profile
    F* plain;
    F* fast = plain;
    F* cuda = fast;

    template <class... A>
    auto operator()(A&&... arguments) const {
        const Timed timed(name);
        const std::array all{plain, fast, cuda};
        return all[static_cast<std::size_t>(way())](std::forward<A>(arguments)...);
    }
};
template <class F, class... More>
Ways(const char*, F*, More...) -> Ways<F>;

}  // namespace abh
