#include "chapters/14_on_many_machines/ranks/checked.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

namespace abh {
// [notice]
namespace {

/// What a rank tells another before each exchange.
struct Notice {
    std::array<char, 40> what{};
    Index number = 0;  ///< of the exchange, counted from 1
    Index bytes = 0;   ///< that it will send
    Index room = 0;    ///< in bytes, for what the other sends
};

template <class... Args>
[[noreturn]] void fail(const Notice& exchange, fmt::format_string<Args...> fault, Args&&... args) {
    throw std::runtime_error(fmt::format("ranks: exchange {}, {}: {}", exchange.number,
                                         exchange.what.data(),
                                         fmt::format(fault, std::forward<Args>(args)...)));
}
// [in time]
/// Waits for a transfer of rank `rank`. @throws std::runtime_error after more than `seconds`
void wait_in_time(Transfer& transfer, const Notice& exchange, Index rank, double seconds) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begun = Clock::now();
    while (true) {
        const std::vector<Index> missing = transfer.missing();
        if (missing.empty()) break;
        if (Clock::now() - begun > std::chrono::duration<double>(seconds))
            fail(exchange, "rank {} has waited {} s for rank{} {}", rank, seconds,
                 missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    transfer.wait();
}
// [letters]
/// What is under way between this rank and another.
struct Letters {
    Message message;
    Room room;
    std::vector<std::byte> sent;     ///< a copy of the message as it was
    std::vector<std::byte> arrived;  ///< copied to the room by `wait`
};

/// The letters of an exchange, indexed by the other rank.
using Exchange = std::vector<Letters>;

constexpr std::byte unread{0xFF};  ///< fills a room until `wait` returns: NaN as numbers

void check_letters(const Notice& exchange, Index me, const Exchange& letters) {
    for (std::size_t r = 0; r < letters.size(); ++r) {
        if (!std::ranges::equal(letters[r].message, letters[r].sent))
            fail(exchange, "rank {} changed its message to rank {} before wait() returned", me, r);
        if (std::ranges::any_of(letters[r].room, [](std::byte b) { return b != unread; }))
            fail(exchange, "rank {} wrote to its room for rank {} before wait() returned", me, r);
    }
}
// [checked transfer]
class CheckedTransfer : public Transfer {
public:
    /// @param open  keeps the letters, to which `transfer` writes, until they have arrived
    CheckedTransfer(std::unique_ptr<Transfer> transfer, const Notice& exchange, Index rank,
                    double seconds, std::map<Index, Exchange>& open)
        : transfer_(std::move(transfer)),
          exchange_(exchange),
          rank_(rank),
          seconds_(seconds),
          open_(open) {}

    ~CheckedTransfer() override {
        if (!waited_ && std::uncaught_exceptions() == 0)
            fmt::print(stderr, "ranks: exchange {}, {}: rank {} did not wait\n", exchange_.number,
                       exchange_.what.data(), rank_);
    }
    std::vector<Index> missing() override { return transfer_->missing(); }

    void wait() override {
        if (std::exchange(waited_, true)) return;
        wait_in_time(*transfer_, exchange_, rank_, seconds_);
        const Exchange letters = std::move(open_.extract(exchange_.number).mapped());
        check_letters(exchange_, rank_, letters);
        for (const Letters& with : letters) std::ranges::copy(with.arrived, with.room.begin());
    }

private:
    std::unique_ptr<Transfer> transfer_;
    Notice exchange_;
    Index rank_;
    double seconds_;
    std::map<Index, Exchange>& open_;
    bool waited_ = false;
};
// [checked engine]
class CheckedEngine : public Engine {
public:
    CheckedEngine(std::unique_ptr<Engine> engine, double seconds)
        : engine_(std::move(engine)), seconds_(seconds) {}
    Index rank() const override { return engine_->rank(); }
    Index size() const override { return engine_->size(); }

    std::unique_ptr<Transfer> exchange(const char* what, std::span<const Message> to,
                                       std::span<const Room> from) override {
        const Notice own = meet(what, to, from);
        Exchange& letters = open_[number_];
        std::vector<Room> arrivals;
        for (std::size_t r = 0; r < to.size(); ++r)
            letters.push_back({to[r],
                               from[r],
                               {to[r].begin(), to[r].end()},
                               std::vector<std::byte>(from[r].size())});
        for (Letters& with : letters) {
            std::ranges::fill(with.room, unread);
            arrivals.push_back(with.arrived);
        }
        return std::make_unique<CheckedTransfer>(engine_->exchange(what, to, arrivals), own, rank(),
                                                 seconds_, open_);
    }

private:
    // [checked meeting]
    /// Tells the others what this rank is about to exchange, and compares that with their notices.
    Notice meet(const char* what, std::span<const Message> to, std::span<const Room> from) {
        const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
        require(to.size() == n && from.size() == n && to[me].empty() && from[me].empty(),
                "ranks: {} messages and {} rooms for {} ranks, or some for oneself", to.size(),
                from.size(), n);
        std::vector<Notice> own(n, {.number = ++number_});
        for (std::size_t r = 0; r < n; ++r) {
            fmt::format_to_n(own[r].what.data(), own[r].what.size() - 1, "{}", what);
            own[r].bytes = static_cast<Index>(to[r].size());
            own[r].room = static_cast<Index>(from[r].size());
        }
        std::vector<Notice> theirs = own;
        std::vector<Message> notices(n);
        std::vector<Room> rooms(n);
        for (std::size_t r = 0; r < n; ++r) {
            if (r == me) continue;
            notices[r] = std::as_bytes(std::span(&own[r], 1));
            rooms[r] = std::as_writable_bytes(std::span(&theirs[r], 1));
        }
        const auto transfer = engine_->exchange("notices", notices, rooms);
        wait_in_time(*transfer, own[me], rank(), seconds_);
        for (std::size_t r = 0; r < n; ++r) compare(own[r], theirs[r], r);
        return own[me];
    }

    void compare(const Notice& own, const Notice& other, std::size_t r) const {
        if (own.number != other.number || own.what != other.what)
            throw std::runtime_error(fmt::format(
                "ranks: rank {} is at exchange {}, {}; rank {} at exchange {}, {}", rank(),
                own.number, own.what.data(), r, other.number, other.what.data()));
        constexpr const char* misfit = "rank {} sends {} bytes to rank {}, which has room for {}";
        if (other.bytes != own.room) fail(own, misfit, r, other.bytes, rank(), own.room);
        if (own.bytes != other.room) fail(own, misfit, rank(), own.bytes, r, other.room);
    }

    std::unique_ptr<Engine> engine_;
    double seconds_;
    Index number_ = 0;
    std::map<Index, Exchange> open_;  ///< by number; kept even if never waited for
};

}  // namespace

std::unique_ptr<Engine> checked(std::unique_ptr<Engine> engine, double seconds) {
    return std::make_unique<CheckedEngine>(std::move(engine), seconds);
}

}  // namespace abh
