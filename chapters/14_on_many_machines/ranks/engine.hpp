#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [transfer]
using Message = std::span<const std::byte>;  ///< what is sent
using Room = std::span<std::byte>;           ///< where what is received will stand

/// Messages under way. What is sent must not change, and what is received must not be read, before
/// `wait` has returned.
class Transfer {
public:
    virtual ~Transfer() = default;
    /// Moves the messages on. @return the ranks that have not yet sent, or not yet taken, theirs
    virtual std::vector<Index> missing() = 0;
    /// Returns when all messages have come, and those sent may change again.
    /// @throws std::runtime_error in one line if that cannot be
    virtual void wait() = 0;
};
// [engine]
/// What carries messages between the ranks of a run: processes under MPI, for one.
class Engine {
public:
    virtual ~Engine() = default;
    virtual Index rank() const = 0;  ///< of this process, from 0
    virtual Index size() const = 0;  ///< number of ranks
    /// Whether messages should stand in the memory of the device, from which they need no copy.
    virtual bool on_device() const { return false; }
    /// Starts to send `to[r]` to each rank r, and to receive what r sends here into `from[r]`.
    /// Every rank calls this, in the same order, and r's message has the size of the room for it.
    /// An empty one is not sent; those from a rank to itself are empty.
    /// @param what  the name of what is done, for messages about errors
    virtual std::unique_ptr<Transfer> exchange(const char* what, std::span<const Message> to,
                                               std::span<const Room> from) = 0;
};

}  // namespace abh
