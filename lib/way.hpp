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

/// The way of all operations from here on; `fast` at the start.
inline Way way() {
    return detail::current_way;
}
/// To be called from one thread, while no operation runs.
/// @throws std::runtime_error in one line for `cuda` if there is no device, or this build has none
void set_way(Way way);
/// `plain`, `fast` or `cuda`. @throws std::invalid_argument naming any other
Way way_named(const std::string& name);
const char* to_string(Way way);
// [scoped way]
/// Another way until the end of the block: backward follows that of its cache.
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
/// Who is told when an operation begins and ends: a profile.
struct Observer {
    void (*begin)(const char* operation);
    void (*end)();
};
namespace detail {
inline const Observer* observer = nullptr;
}

/// Tells the observer, if there is one, of the block that it stands in.
class Timed {
public:
    /// @param name  a literal: it is kept, not copied
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
/// Sets how many threads fast ways use, the calling one included. 1 at the start.
/// @throws std::invalid_argument unless 1 <= n <= 256
void set_threads(int n);
int threads();
// [ways]
/// The functions that compute one operation, all of one signature. A way that is left out is served
/// by the one before it.
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
