#include "chapters/14_on_many_machines/ranks/ranks.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "chapters/14_on_many_machines/ranks/tree_sum.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [meet]
/// Fills `values` on all ranks: element r becomes rank r's own element r.
template <class T>
void Ranks::share_values(const char* what, std::vector<T>& values) {
    std::vector<Room> rooms;
    for (T& value : values) rooms.push_back(std::as_writable_bytes(std::span(&value, 1)));
    wait(share(what, rooms));
}

/// Tells the others what this rank is about to do, and checks that they are about to do the same.
void Ranks::meet(const char* what, const Shape& shape) {
    ++calls_;
    if (size() == 1) return;
    std::array<char, 96> own{};
    fmt::format_to_n(own.data(), own.size() - 1, "call {}, {} of {}{}", calls_, what, shape,
                     sizeof(Real) == sizeof(float) ? "" : " in double precision");
    std::vector all(static_cast<std::size_t>(size()), own);
    share_values("meeting", all);
    for (std::size_t r = 0; r < all.size(); ++r)
        if (all[r] != own)
            throw std::runtime_error(fmt::format("ranks: rank {} is at {}; rank {} at {}", rank(),
                                                 own.data(), r, all[r].data()));
}
// [exchange]
std::unique_ptr<Transfer> Ranks::exchange(const char* what, std::span<const Message> to,
                                          std::span<const Room> from) {
    for (const Message& message : to) {
        traffic_.messages += !message.empty();
        traffic_.bytes += static_cast<Index>(message.size());
    }
    return engine_ ? engine_->exchange(what, to, from) : nullptr;
}

std::unique_ptr<Transfer> Ranks::share(const char* what, std::span<const Room> rooms) {
    const auto me = static_cast<std::size_t>(rank());
    std::vector<Message> to(rooms.size(), rooms[me]);
    std::vector<Room> from(rooms.begin(), rooms.end());
    to[me] = {};
    from[me] = {};
    return exchange(what, to, from);
}

void Ranks::send_receive(const char* what, Index to, Message message, Index from, Room room) {
    std::vector<Message> messages(static_cast<std::size_t>(size()));
    std::vector<Room> rooms(messages.size());
    messages[static_cast<std::size_t>(to)] = message;
    rooms[static_cast<std::size_t>(from)] = room;
    wait(exchange(what, messages, rooms));
}

void Ranks::wait(const std::unique_ptr<Transfer>& transfer) {
    if (transfer) traffic_.seconds += milliseconds([&] { transfer->wait(); }) / 1e3;
}
// [broadcast]
// In round k, the first 2^k ranks have x, and send it 2^k places on.
void Ranks::broadcast(Tensor& x) {
    meet("broadcast", x.shape());
    for (Index have = 1; have < size(); have *= 2) {
        const Index to = rank() + have, from = rank() - have;
        const bool gives = rank() < have && to < size(), takes = from >= 0 && from < have;
        send_receive("broadcast", gives ? to : rank(), gives ? message_of(x) : Message{},
                     takes ? from : rank(), takes ? room_of(x) : Room{});
    }
}
// [reduce scatter]
// Every rank sends row block r to rank r, and adds up the blocks that it receives.
Tensor Ranks::reduce_scatter(const Tensor& x) {
    require(x.rank() >= 1 && x.dim(0) % size() == 0,
            "reduce_scatter: cannot cut {} in {} equal parts", x.shape(), size());
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
    wait(exchange("reduce_scatter", to, from));
    TreeSum sum;
    for (std::size_t r = 0; r < n; ++r)
        sum.add({static_cast<Index>(r), static_cast<Index>(r) + 1}, parts[r]);
    return sum.total();
}
// [all gather]
Tensor Ranks::all_gather(const Tensor& x) {
    require(x.rank() >= 1, "all_gather: x has shape {}, expected at least one axis", x.shape());
    meet("all_gather", x.shape());
    const Index n = x.dim(0), first = rank() * n;
    Tensor all(x.shape().with(0, size() * n)), own = all.rows(first, first + n);
    std::ranges::copy(x.values(), own.values().begin());
    std::vector<Room> rooms;
    for (Index r = 0; r < size(); ++r) {
        Tensor rows = all.rows(r * n, (r + 1) * n);
        rooms.push_back(room_of(rows));
    }
    wait(share("all_gather", rooms));
    return all;
}

std::vector<std::string> Ranks::all_gather(const std::string& text) {
    meet("all_gather of text", Shape{});
    std::vector<std::size_t> lengths(static_cast<std::size_t>(size()), text.size());
    share_values("all_gather of lengths", lengths);
    std::vector<std::string> texts(lengths.size(), text);
    std::vector<Room> rooms;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
        texts[r].resize(lengths[r]);
        rooms.push_back(std::as_writable_bytes(std::span(texts[r])));
    }
    wait(share("all_gather of text", rooms));
    return texts;
}
// [all reduce]
// Each rank adds up its share of the elements, and sends the sums to the others.
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
