#include "chapters/14_on_many_machines/ranks/checked.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace abh {
// [notice]
namespace {

/// What a rank tells another one before each exchange.
struct Notice {
    std::array<char, 40> what{};
    Index number = 0;            ///< of the exchange, from 1
    std::uint64_t bytes = 0;     ///< that will be sent
    std::uint64_t room = 0;      ///< for what the other one sends
    std::uint64_t checksum = 0;  ///< of what will be sent
};

/// Its FNV-1a hash.
std::uint64_t checksum_of(Message message) {
    std::uint64_t sum = 0xcbf29ce484222325;
    for (const std::byte b : message)
        sum = (sum ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
    return sum;
}

template <class... Args>
[[noreturn]] void fail(const Notice& exchange, fmt::format_string<Args...> fault, Args&&... args) {
    throw std::runtime_error(fmt::format("ranks: exchange {}, {}: {}", exchange.number,
                                         exchange.what.data(),
                                         fmt::format(fault, std::forward<Args>(args)...)));
}
// [in time]
/// Waits for a transfer of rank `rank`. @throws std::runtime_error where it takes `seconds` or more
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
// [unread]
constexpr std::uint32_t no_number = 0xfff80000;  // a float or, twice, a double: NaN
constexpr std::uint32_t payload = 0x7ffff;       // bits of it that sums and products hand on
constexpr Index numbers = payload - 1;           // that tell exchanges apart; all bits: -1 has them

/// Byte `i` of a room until `wait` has returned: of a NaN that says which exchange it waits for.
std::byte unread(Index exchange, std::size_t i) {
    const std::uint32_t word = no_number | static_cast<std::uint32_t>(1 + (exchange - 1) % numbers);
    return static_cast<std::byte>(word >> 8 * (i % sizeof(word)));
}

/// The exchange from whose room a number of this message comes that had not arrived: the latest one
/// of this number behind `first`. 0: none.
Index read_too_early(Message message, Index first, Index latest) {
    using Words = std::array<std::uint32_t, sizeof(Real) / sizeof(std::uint32_t)>;
    for (std::size_t at = 0; at + sizeof(Words) <= message.size(); at += sizeof(Words)) {
        Words words;
        std::memcpy(words.data(), message.data() + at, sizeof(Words));
        const Index number = words[0] & payload;
        const Index exchange = latest - (latest - number) % numbers;
        if ((words[0] & no_number) == no_number && words.front() == words.back() && number > 0 &&
            number <= std::min(numbers, latest) && exchange > first)
            return exchange;
    }
    return 0;
}
// [letters]
/// What is under way between this rank and another one.
struct Letters {
    Message sent;
    Room room;
    std::vector<std::byte> arrived;  ///< which goes to the room in `wait`
    std::uint64_t checksum_sent, checksum_announced;
};

/// The letters of an exchange, by the other rank.
using Exchange = std::vector<Letters>;

void check_letters(const Notice& exchange, Index me, const Exchange& letters) {
    for (std::size_t r = 0; r < letters.size(); ++r) {
        const Letters& with = letters[r];
        if (checksum_of(with.sent) != with.checksum_sent)
            fail(exchange, "rank {} changed its message to rank {} before wait() returned", me, r);
        for (std::size_t i = 0; i < with.room.size(); ++i)
            if (with.room[i] != unread(exchange.number, i))
                fail(exchange, "rank {} wrote to its room for rank {} before wait() returned", me,
                     r);
        if (checksum_of(with.arrived) != with.checksum_announced)
            fail(exchange, "the message of rank {} to rank {} changed on its way", r, me);
    }
}
// [checked transfer]
class CheckedTransfer : public Transfer {
public:
    /// @param open  holds the letters until they have arrived: `transfer` writes to them
    CheckedTransfer(std::unique_ptr<Transfer> transfer, const Notice& exchange, Index rank,
                    double seconds, std::map<Index, Exchange>& open)
        : transfer_(std::move(transfer)),
          exchange_(exchange),
          rank_(rank),
          seconds_(seconds),
          open_(open) {}

    ~CheckedTransfer() override {
        if (!waited_ && std::uncaught_exceptions() == 0)
            std::fprintf(stderr, "ranks: exchange %lld, %s: rank %lld did not wait\n",
                         static_cast<long long>(exchange_.number), exchange_.what.data(),
                         static_cast<long long>(rank_));
    }
    std::vector<Index> missing() override { return transfer_->missing(); }

    void wait() override {
        if (std::exchange(waited_, true)) return;
        wait_in_time(*transfer_, exchange_, rank_, seconds_);
        const Exchange letters = std::move(open_.extract(exchange_.number).mapped());
        check_letters(exchange_, rank_, letters);
        for (const Letters& with : letters)
            std::copy(with.arrived.begin(), with.arrived.end(), with.room.begin());
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
    CheckedEngine(std::unique_ptr<Engine> engine, CheckOptions options)
        : engine_(std::move(engine)), options_(options), number_(options.exchanges) {}
    Index rank() const override { return engine_->rank(); }
    Index size() const override { return engine_->size(); }

    std::unique_ptr<Transfer> exchange(const char* what, std::span<const Message> to,
                                       std::span<const Room> from) override {
        meet(what, to, from);
        const auto n = static_cast<std::size_t>(size());
        for (std::size_t r = 0; r < n; ++r) check_numbers(to[r], r);
        Exchange& letters = open_[number_];
        std::vector<Room> arrivals;
        for (std::size_t r = 0; r < n; ++r) {
            for (std::size_t i = 0; i < from[r].size(); ++i) from[r][i] = unread(number_, i);
            letters.push_back({to[r], from[r], std::vector<std::byte>(from[r].size()),
                               own_[r].checksum, theirs_[r].checksum});
            arrivals.push_back(letters.back().arrived);
        }
        return std::make_unique<CheckedTransfer>(engine_->exchange(what, to, arrivals),
                                                 own_.front(), rank(), options_.seconds, open_);
    }

private:
    // [checked meeting]
    /// Tells the others what this rank is about to exchange, and compares.
    void meet(const char* what, std::span<const Message> to, std::span<const Room> from) {
        const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
        require(to.size() == n && from.size() == n && to[me].empty() && from[me].empty(),
                "ranks: {} messages and {} rooms for {} ranks, or some for oneself", to.size(),
                from.size(), n);
        ++number_;
        names_.emplace_back(what);
        own_.clear();
        for (std::size_t r = 0; r < n; ++r)
            own_.push_back({{}, number_, to[r].size(), from[r].size(), checksum_of(to[r])});
        for (Notice& own : own_) std::strncpy(own.what.data(), what, own.what.size() - 1);
        theirs_ = own_;
        std::vector<Message> notices(n);
        std::vector<Room> rooms(n);
        for (std::size_t r = 0; r < n; ++r) {
            if (r == me) continue;
            notices[r] = std::as_bytes(std::span(&own_[r], 1));
            rooms[r] = std::as_writable_bytes(std::span(&theirs_[r], 1));
        }
        const auto transfer = engine_->exchange("notices", notices, rooms);
        wait_in_time(*transfer, own_[me], rank(), options_.seconds);
        for (std::size_t r = 0; r < n; ++r) compare(own_[r], theirs_[r], r);
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

    /// That what this rank sends does not come from a room that it has read too early.
    void check_numbers(Message message, std::size_t r) const {
        if (const Index early = read_too_early(message, options_.exchanges, number_))
            fail(own_[r],
                 "rank {} sends rank {} what it has read from the room of exchange {}, {}, before "
                 "wait() returned",
                 rank(), r, early,
                 names_[static_cast<std::size_t>(early - options_.exchanges - 1)]);
    }

    std::unique_ptr<Engine> engine_;
    CheckOptions options_;
    Index number_;
    std::vector<std::string> names_;    ///< of the exchanges so far
    std::vector<Notice> own_, theirs_;  ///< of the latest exchange
    std::map<Index, Exchange>
        open_;  ///< by number; kept where they never arrive, as they still may
};

}  // namespace

std::unique_ptr<Engine> checked(std::unique_ptr<Engine> engine, CheckOptions options) {
    return std::make_unique<CheckedEngine>(std::move(engine), options);
}

}  // namespace abh
