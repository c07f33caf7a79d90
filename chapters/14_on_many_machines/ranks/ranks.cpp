#include "chapters/14_on_many_machines/ranks/ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "chapters/14_on_many_machines/ranks/tree_sum.hpp"

namespace abh {
// [meet]
namespace {

/// What a rank has come to do, as it tells the others.
struct Intent {
    std::array<char, 32> what{};
    std::array<Index, Shape::max_rank> sizes{};
    Index axes = 0, bytes_of_element = 0, root = -1, call = 0;

    std::string said() const {
        const std::span<const Index> all(sizes);
        return fmt::format("call {}, {} of {}{}{}", call, what.data(),
                           Shape(all.first(static_cast<std::size_t>(axes))),
                           root < 0 ? "" : fmt::format(" from rank {}", root),
                           bytes_of_element == sizeof(float) ? "" : " in double precision");
    }
    bool operator==(const Intent&) const = default;
};

}  // namespace

/// Tells the others what this rank is about to do, and compares.
void Ranks::meet(const char* what, const Shape& shape, Index root) {
    ++calls_;
    if (size() == 1) return;
    Intent own;
    std::strncpy(own.what.data(), what, own.what.size() - 1);
    for (int axis = 0; axis < shape.rank(); ++axis)
        own.sizes[static_cast<std::size_t>(axis)] = shape[axis];
    own.axes = shape.rank();
    own.bytes_of_element = sizeof(Real);
    own.root = root;
    own.call = calls_;
    const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
    std::vector<Intent> all(n, own);
    std::vector<Message> to(n, std::as_bytes(std::span(&own, 1)));
    std::vector<Room> from;
    for (Intent& intent : all) from.push_back(std::as_writable_bytes(std::span(&intent, 1)));
    to[me] = {};
    from[me] = {};
    exchange_now("meeting", to, from);
    for (std::size_t r = 0; r < n; ++r)
        if (all[r] != own)
            throw std::runtime_error(fmt::format("ranks: rank {} is at {}; rank {} at {}", rank(),
                                                 own.said(), r, all[r].said()));
}
// [exchange]
Message Ranks::message_of(const Tensor& x) const {
    if (!engine_ || !engine_->on_device()) return std::as_bytes(x.values());
    return std::as_bytes(std::span(x.on_device(), static_cast<std::size_t>(x.size())));
}

Room Ranks::room_of(Tensor& x) const {
    if (!engine_ || !engine_->on_device()) return std::as_writable_bytes(x.values());
    return std::as_writable_bytes(std::span(x.on_device(), static_cast<std::size_t>(x.size())));
}

std::unique_ptr<Transfer> Ranks::exchange(const char* what, std::span<const Message> to,
                                          std::span<const Room> from) {
    const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
    require(to.size() == n && from.size() == n && to[me].empty() && from[me].empty(),
            "ranks: {} messages and {} rooms for {} ranks, or some for oneself", to.size(),
            from.size(), n);
    for (const Message& message : to) {
        traffic_.messages += !message.empty();
        traffic_.bytes += static_cast<Index>(message.size());
    }
    return engine_ ? engine_->exchange(what, to, from) : nullptr;
}

void Ranks::exchange_now(const char* what, std::span<const Message> to,
                         std::span<const Room> from) {
    wait(exchange(what, to, from));
}

void Ranks::wait(const std::unique_ptr<Transfer>& transfer) {
    const auto start = std::chrono::steady_clock::now();
    if (transfer) transfer->wait();
    traffic_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
// [broadcast]
// In round k the ranks that have x, the first 2^k counted from the root, send it 2^k places on.
void Ranks::broadcast(Tensor& x, Index root) {
    require(root >= 0 && root < size(), "broadcast: no rank {} of {}", root, size());
    meet("broadcast", x.shape(), root);
    const auto n = static_cast<std::size_t>(size());
    const Index place = (rank() - root + size()) % size();
    const auto at = [&](Index p) { return static_cast<std::size_t>((p + root) % size()); };
    for (Index have = 1; have < size(); have *= 2) {
        std::vector<Message> to(n);
        std::vector<Room> from(n);
        if (place < have && place + have < size()) to[at(place + have)] = message_of(x);
        if (place >= have && place < 2 * have) from[at(place - have)] = room_of(x);
        exchange_now("broadcast", to, from);
    }
}
// [reduce scatter]
// Every rank hands row block r to rank r, and adds up what it is handed.
Tensor Ranks::reduce_scatter(const Tensor& x) {
    require(x.rank() >= 1 && x.dim(0) % size() == 0, "reduce_scatter: {} in {} equal parts",
            x.shape(), size());
    meet("reduce_scatter", x.shape());
    const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
    const Index rows = x.dim(0) / size();
    std::vector<Tensor> parts;
    std::vector<Message> to(n);
    std::vector<Room> from(n);
    for (std::size_t r = 0; r < n; ++r) {
        const Tensor block = x.rows(static_cast<Index>(r) * rows, static_cast<Index>(r + 1) * rows);
        parts.push_back(r == me ? block.clone() : Tensor(block.shape()));
        if (r == me) continue;
        to[r] = message_of(block);
        from[r] = room_of(parts[r]);
    }
    exchange_now("reduce_scatter", to, from);
    TreeSum sum;
    for (std::size_t r = 0; r < n; ++r)
        sum.add({static_cast<Index>(r), static_cast<Index>(r) + 1}, parts[r]);
    return sum.total();
}
// [all gather]
Tensor Ranks::all_gather(const Tensor& x) {
    require(x.rank() >= 1, "all_gather: x has shape {}, expected an axis", x.shape());
    meet("all_gather", x.shape());
    const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
    Tensor all(x.shape().with(0, size() * x.dim(0)));
    const auto rows = [&](std::size_t r) {
        const auto at = static_cast<Index>(r);
        return all.rows(at * x.dim(0), (at + 1) * x.dim(0));
    };
    Tensor own = rows(me);
    std::copy(x.values().begin(), x.values().end(), own.values().begin());
    std::vector<Message> to(n, message_of(own));
    std::vector<Room> from(n);
    for (std::size_t r = 0; r < n; ++r) {
        Tensor theirs = rows(r);
        if (r != me) from[r] = room_of(theirs);
    }
    to[me] = {};
    exchange_now("all_gather", to, from);
    return all;
}

std::vector<std::string> Ranks::all_gather(const std::string& text) {
    meet("all_gather of text", Shape{});
    const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
    std::vector<Index> lengths(n, static_cast<Index>(text.size()));
    std::vector<std::string> texts(n, text);
    std::vector<Message> to(n, std::as_bytes(std::span(&lengths[me], 1)));
    std::vector<Room> from(n);
    to[me] = {};
    for (std::size_t r = 0; r < n; ++r)
        if (r != me) from[r] = std::as_writable_bytes(std::span(&lengths[r], 1));
    exchange_now("all_gather of lengths", to, from);
    for (std::size_t r = 0; r < n; ++r) {
        if (r == me) continue;
        texts[r].resize(static_cast<std::size_t>(lengths[r]));
        to[r] = std::as_bytes(std::span(text));
        from[r] = std::as_writable_bytes(std::span(texts[r]));
    }
    exchange_now("all_gather of text", to, from);
    return texts;
}
// [all reduce]
// Each rank adds up its share of the elements, and hands it to the others.
void Ranks::all_reduce(Tensor& x) {
    meet("all_reduce", x.shape());
    if (size() == 1) return;
    const Index share = (x.size() + size() - 1) / size();
    Tensor padded = Tensor::zeros({share * size()});
    std::copy(x.values().begin(), x.values().end(), padded.values().begin());
    const Tensor sum = all_gather(reduce_scatter(padded));
    std::copy_n(sum.values().begin(), x.size(), x.values().begin());
}

void Ranks::barrier() {
    meet("barrier", Shape{});
}

}  // namespace abh
