#include "chapters/14_on_many_machines/ranks/local.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>

namespace abh {
// [post office]
namespace {

/// Keeps messages until they are fetched.
class PostOffice {
public:
    /// Identifies a message: the number of the sender's exchange, the sender, the receiver.
    using Address = std::tuple<Index, Index, Index>;

    void put(const Address& address, Message message) {
        const std::lock_guard lock(mutex_);
        letters_[address].assign(message.begin(), message.end());
        changed_.notify_all();
    }
    bool has(const Address& address) {
        const std::lock_guard lock(mutex_);
        return letters_.contains(address);
    }
    /// Waits for the message. @throws std::runtime_error if its sender has ended without sending it
    std::vector<std::byte> fetch(const Address& address) {
        std::unique_lock lock(mutex_);
        const Index sender = std::get<1>(address);
        changed_.wait(lock, [&] { return letters_.contains(address) || gone_.contains(sender); });
        if (!letters_.contains(address))
            throw std::runtime_error(fmt::format("ranks: rank {} has ended", sender));
        return std::move(letters_.extract(address).mapped());
    }
    /// Notes that a rank has ended and will send nothing more.
    void leave(Index rank, std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        gone_.insert(rank);
        if (error && !error_) error_ = error;
        changed_.notify_all();
    }
    std::exception_ptr error() const { return error_; }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Address, std::vector<std::byte>> letters_;
    std::set<Index> gone_;
    std::exception_ptr error_;
};
// [local transfer]
class LocalTransfer : public Transfer {
public:
    /// A message that this rank waits for.
    struct Expected {
        PostOffice::Address address;
        Room room;
    };

    LocalTransfer(PostOffice& office, const char* what, std::vector<Expected> expected)
        : office_(office), what_(what), expected_(std::move(expected)) {}

    bool complete() override {
        return std::ranges::all_of(expected_,
                                   [&](const Expected& e) { return office_.has(e.address); });
    }

    void wait() override {
        for (const auto& [address, room] : expected_) {
            const auto& [number, from, to] = address;
            const std::vector<std::byte> letter = office_.fetch(address);
            if (letter.size() != room.size())
                throw std::runtime_error(fmt::format(
                    "ranks: rank {} sent {} bytes to rank {}, which has room for {}, in {}", from,
                    letter.size(), to, room.size(), what_));
            std::ranges::copy(letter, room.begin());
        }
        expected_.clear();
    }

private:
    PostOffice& office_;
    const char* what_;
    std::vector<Expected> expected_;
};
// [local engine]
class LocalEngine : public Engine {
public:
    LocalEngine(PostOffice& office, Index rank, Index size)
        : office_(office), rank_(rank), size_(size) {}
    Index rank() const override { return rank_; }
    Index size() const override { return size_; }

    std::unique_ptr<Transfer> exchange(const char* what, std::span<const Message> to,
                                       std::span<const Room> from) override {
        ++number_;
        std::vector<LocalTransfer::Expected> expected;
        for (Index r = 0; r < size_; ++r) {
            const Message message = to[static_cast<std::size_t>(r)];
            const Room room = from[static_cast<std::size_t>(r)];
            if (!message.empty()) office_.put({number_, rank_, r}, message);
            if (!room.empty()) expected.push_back({{number_, r, rank_}, room});
        }
        return std::make_unique<LocalTransfer>(office_, what, std::move(expected));
    }

private:
    PostOffice& office_;
    Index rank_, size_, number_ = 0;
};

}  // namespace
// [run local]
void run_local_engines(Index n, const std::function<void(std::unique_ptr<Engine>)>& f) {
    require(n >= 1 && n <= 64, "ranks: {} in one process, expected 1 to 64", n);
    PostOffice office;
    std::vector<std::thread> threads;
    for (Index rank = 0; rank < n; ++rank)
        threads.emplace_back([&, rank] {
            std::exception_ptr error;
            try {
                f(std::make_unique<LocalEngine>(office, rank, n));
            } catch (...) {
                error = std::current_exception();
            }
            office.leave(rank, error);
        });
    for (std::thread& thread : threads) thread.join();
    if (office.error()) std::rethrow_exception(office.error());
}

void run_local_ranks(Index n, const std::function<void(Ranks&)>& f) {
    run_local_engines(n, [&](std::unique_ptr<Engine> engine) {
        Ranks ranks(std::move(engine));
        f(ranks);
    });
}

}  // namespace abh
