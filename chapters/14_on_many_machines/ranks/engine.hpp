#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [transfer]
using Message = std::span<const std::byte>;  ///< the bytes that are sent
using Room = std::span<std::byte>;           ///< where received bytes are written

/// A tensor's elements as a message.
inline Message message_of(const Tensor& x) {
    return std::as_bytes(x.values());
}
/// A tensor's elements as room for a message. Call it only when nothing else will be written to `x`
/// before the message has arrived.
inline Room room_of(Tensor& x) {
    return std::as_writable_bytes(x.values());
}

/// Messages under way. Until `wait` has returned, what is sent must not change, and what is
/// received must not be read.
class Transfer {
public:
    virtual ~Transfer() = default;
    /// Keeps the messages moving. @return whether all of them, either way, are complete
    virtual bool complete() = 0;
    /// Returns when all messages have arrived, and those sent may change again.
    /// @throws std::runtime_error in one line if they cannot arrive
    virtual void wait() = 0;
};
// [engine]
/// Carries messages between the ranks of a run, which are processes under MPI, for example.
class Engine {
public:
    virtual ~Engine() = default;
    virtual Index rank() const = 0;  ///< of this process, from 0
    virtual Index size() const = 0;  ///< number of ranks
    /// Starts to send `to[r]` to each rank r, and to receive what r sends here into `from[r]`.
    /// All ranks make these calls in the same order, and each message is as large as the room for
    /// it. An empty message is not sent; those from a rank to itself must be empty.
    /// @param what  a name for this exchange, for error messages
    virtual std::unique_ptr<Transfer> exchange(const char* what, std::span<const Message> to,
                                               std::span<const Room> from) = 0;
};

}  // namespace abh
