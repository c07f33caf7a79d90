#pragma once

#include <string>
#include <vector>

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [traffic]
/// What this rank has sent, and how long it has waited.
struct Traffic {
    Index messages = 0, bytes = 0;
    double seconds = 0;  ///< spent in `wait`, for messages and for later ranks
};
// [ranks]
/// The processes of a run, which compute together, as one of them sees them.
///
/// Every rank calls the same functions in the same order. Each collective compares what the ranks
/// are about to do (function, kind of number, shape). If two ranks differ, it throws
/// `std::runtime_error` on every rank and names both. Only `exchange`, `share` and `send_receive`
/// compare nothing.
class Ranks {
public:
    /// One process alone.
    Ranks() = default;
    explicit Ranks(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

    Index rank() const { return engine_ ? engine_->rank() : 0; }
    Index size() const { return engine_ ? engine_->size() : 1; }
    bool first() const { return rank() == 0; }

    /// Copies the elements of rank 0's x to all ranks, along a tree of log2(size) rounds.
    void broadcast(Tensor& x);
    /// x becomes the sum of all ranks' x, added as by `TreeSum`, with the same bits on each rank.
    void all_reduce(Tensor& x);
    /// The sum of all ranks' x `[n, ...]`, of which each rank gets `n / size` rows of its own.
    /// @throws std::invalid_argument unless `size` divides n
    Tensor reduce_scatter(const Tensor& x);
    /// All ranks' x `[n, ...]`, one below the other in the order of ranks: `[size * n, ...]`.
    Tensor all_gather(const Tensor& x);
    /// Each rank's text, in the order of ranks; they may differ in length.
    std::vector<std::string> all_gather(const std::string& text);
    /// Returns when every rank has called it.
    void barrier();
    // [ranks: exchange]
    /// Starts an exchange of messages of the caller's own, under the rules of `Engine`. It compares
    /// no sizes and waits for no rank.
    std::unique_ptr<Transfer> exchange(const char* what, std::span<const Message> to,
                                       std::span<const Room> from);
    /// Returns when all of a transfer's messages have arrived; at once if `transfer` is null.
    void wait(const std::unique_ptr<Transfer>& transfer);
    /// Starts to send `rooms[rank()]` to all other ranks, and to receive theirs in the other rooms.
    std::unique_ptr<Transfer> share(const char* what, std::span<const Room> rooms);
    /// Sends a message to rank `to`, receives one from rank `from`, and waits. Either may be empty.
    void send_receive(const char* what, Index to, Message message, Index from, Room room);
    const Traffic& traffic() const { return traffic_; }

private:
    void meet(const char* what, const Shape& shape);
    template <class T>
    void share_values(const char* what, std::vector<T>& values);

    std::unique_ptr<Engine> engine_;
    Traffic traffic_;
    Index calls_ = 0;
};
}  // namespace abh
