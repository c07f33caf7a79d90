#include <algorithm>
#include <bit>

#include "lib/cuda/emulated/running_kernel.cuh"

namespace abh::emulator {
// [checks]
namespace {

/// Whether another thread made the access `before`, and no barrier separates it from `now`.
bool races(const Region::Touch& before, const Region::Touch& now) {
    if (before.time != now.time || before.thread == now.thread) return false;
    return before.warp != now.warp || before.warp_time == now.warp_time;
}
// [checks: accesses]
/// Notes that this thread reads an element of shared memory. Fails if another one writes it.
void read_element(Region::Touches& touch, const Place& place) {
    Region::Touch now = kernel.now;
    if (races(touch.write, now))
        fail("reads what thread " + to_string(touch.write.thread) +
                 " writes, with no barrier in between",
             place);
    if (touch.read.time == now.time) {
        if (touch.read.thread != now.thread) now.thread = -2;
        if (touch.read.warp != now.warp) now.warp = -2;
    }
    touch.read = now;
}

void write_element(Region::Touches& touch, const Place& place) {
    const Region::Touch now = kernel.now;
    if (races(touch.write, now))
        fail("writes what thread " + to_string(touch.write.thread) + " writes too", place);
    if (races(touch.read, now))
        fail("writes what " +
                 (touch.read.thread < 0 ? "others" : "thread " + to_string(touch.read.thread)) +
                 " may still read, with no barrier in between",
             place);
    touch = {.write = now, .read = {}};
}

/// Calls `f` for each element of `elements` that is used. Elements have `size` bytes, a power of
/// two, and a division would take longer than all the rest.
template <class Elements, class F>
void for_used(Elements& elements, std::size_t size, const Use& use, const F& f) {
    const int shift = std::countr_zero(size);
    const auto at = static_cast<std::size_t>(use.at);
    for (std::size_t i = at >> shift; i << shift < at + use.size; ++i) f(elements[i]);
}

void touch_elements(Region& region, const Use& use, const Place& place) {
    for_used(region.touches, region.element_bytes, use, [&](Region::Touches& touch) {
        use.write ? write_element(touch, place) : read_element(touch, place);
    });
}
// [checks: blocks]
/// Says that `block` of the running kernel used an element. No two launches that an element still
/// knows have the same number: `begin_launch`.
std::uint32_t stamp(std::uint32_t block) {
    return kernel.launch * blocks_of_stamp + block;
}

/// Whether another block of this launch left this stamp.
bool by_another(std::uint32_t before) {
    return before / blocks_of_stamp == kernel.launch && before != stamp(kernel.block);
}

std::string block_of(std::uint32_t stamp) {
    const std::uint32_t block = stamp % blocks_of_stamp;
    if (block == by_atomics) return "an atomic function";
    return block == several ? "others" : "block " + to_string(position(block, gridDim), gridDim);
}

std::array<Place, 1 << 16> places;  // that have used device memory, by `number_of`

/// A number to find a line by. Two lines of a file never share one.
std::uint16_t number_of(const Place& place) {
    const auto file = reinterpret_cast<std::uintptr_t>(place.file);
    const auto number = static_cast<std::uint16_t>(place.line + 8191 * file);
    places[number] = place;
    return number;
}

/// Notes that this block uses an element of device memory. Blocks run in any order, or at the same
/// time, so nothing orders what two of them do to one element.
void use_element(Region::Blocks& element, const Use& use, std::uint16_t at, const Place& place) {
    const bool added = use.atomic && element.wrote == stamp(by_atomics);
    if (by_another(element.wrote) && !added)
        fail(fmt::format("{} what {} writes at {}, in the same launch",
                         use.write ? "writes" : "reads", block_of(element.wrote),
                         line(places[element.wrote_at])),
             place);
    if ((use.write || use.atomic) && by_another(element.read))
        fail(fmt::format("writes what {} may still read at {}, in the same launch",
                         block_of(element.read), line(places[element.read_at])),
             place);
    if (use.write) {
        element.wrote = stamp(use.atomic ? by_atomics : kernel.block);
        element.wrote_at = at;
    } else if (by_another(element.read)) {
        element.read = stamp(several);
    } else if (!use.atomic) {
        element.read = stamp(kernel.block);
        element.read_at = at;
    }
}

void use_elements(Region& region, const Use& use, const Place& place) {
    if (region.unit_bytes == 0 || region.unit_bytes > use.size) {  // finer than any use before
        region.unit_bytes = std::min<std::size_t>(use.size, 4);
        region.blocks.assign(region.bytes.size() / region.unit_bytes + 1, {});
    }
    const std::uint16_t number = number_of(place);
    for_used(region.blocks, region.unit_bytes, use,
             [&](Region::Blocks& element) { use_element(element, use, number, place); });
}

/// Whether all `size` bytes are 1. Most often, there are four.
bool all_written(const std::uint8_t* bytes, std::size_t size) {
    if (size == 4) return std::memcmp(bytes, "\1\1\1\1", 4) == 0;
    return std::find(bytes, bytes + size, 0) == bytes + size;
}

}  // namespace
// [checks: all of an access]
std::byte* access(Region& region, const Use& use, const Place& place) {
    const auto n = static_cast<std::int64_t>(use.size),
               all = static_cast<std::int64_t>(region.bytes.size());
    if (use.at < 0 || use.at + n > all)
        fail(fmt::format("{} element {} of {} memory that has {}", use.write ? "writes" : "reads",
                         use.at >= 0 ? use.at / n : (use.at - n + 1) / n, region.kind, all / n),
             place);
    if ((static_cast<std::size_t>(use.at) & (use.alignment - 1)) != 0)
        fail(fmt::format("{} {} bytes at offset {} of {} memory, which is no multiple of {}",
                         use.write ? "writes" : "reads", n, use.at, region.kind, use.alignment),
             place);
    std::uint8_t* const written = region.written.data() + use.at;
    if (!use.write && !all_written(written, use.size))
        fail(fmt::format("reads element {} of {} memory, which nothing wrote", use.at / n,
                         region.kind),
             place);
    if (counting) count_access(region, use, place);
    region.used = true;
    if (region.element_bytes == 0)
        use_elements(region, use, place);
    else if (!use.atomic)
        touch_elements(region, use, place);
    if (use.write) std::memset(written, 1, use.size);
    return region.bytes.data() + use.at;
}
// [asynchronous copies]
void begin_copy(Region* to, std::int64_t at, Region* from, std::int64_t from_at, std::size_t bytes,
                const Place& place) {
    if (bytes != 4 && bytes != 8 && bytes != 16)
        fail(fmt::format("copies {} bytes at once, expected 4, 8 or 16", bytes), place);
    if (!to || to->element_bytes == 0 || !from || from->element_bytes > 0)
        fail("copies asynchronously, but not from device memory to shared memory", place);
    Thread& thread = thread_of(kernel.thread);
    const Copy copy{
        to,           from, {at, bytes, bytes, true, false}, {from_at, bytes, bytes, false, false},
        thread.group, place};
    access(*from, copy.here, place);
    access(*to, copy.there, place);
    std::memset(to->written.data() + at, 0, bytes);  // until it has arrived
    thread.copies.push_back(copy);
}

void end_group() {
    ++thread_of(kernel.thread).group;
}

void wait_for_copies(int groups) {
    Thread& thread = thread_of(kernel.thread);
    std::erase_if(thread.copies, [&](const Copy& copy) {
        if (copy.group >= thread.group - groups) return false;
        touch_elements(*copy.to, copy.there, copy.place);  // not counted again
        std::memset(copy.to->written.data() + copy.there.at, 1, copy.there.size);
        std::memcpy(copy.to->bytes.data() + copy.there.at, copy.from->bytes.data() + copy.here.at,
                    copy.here.size);
        return true;
    });
}

}  // namespace abh::emulator
