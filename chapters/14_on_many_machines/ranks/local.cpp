#include "chapters/14_on_many_machines/ranks/local.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>

namespace abh {
// [post office]
namespace {

/// Where messages lie until they are fetched.
class PostOffice {
public:
    /// Which message: of the sender's exchange with this number, from whom, to whom.
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
    /// Waits for the message. @throws std::runtime_error if none will come any more
    std::vector<std::byte> fetch(const Address& address) {
        std::unique_lock lock(mutex_);
        const Index sender = std::get<1>(address);
        changed_.wait(lock, [&] { return letters_.contains(address) || gone_.contains(sender); });
        if (!letters_.contains(address))
            throw std::runtime_error(fmt::format("ranks: rank {} has ended", sender));
        return std::move(letters_.extract(address).mapped());
    }
    /// A rank ends, and sends nothing any more.
    void leave(Index rank, std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        gone_[rank] = true;
        if (error && !error_) error_ = error;
        changed_.notify_all();
    }
    std::exception_ptr error() const { return error_; }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Address, std::vector<std::byte>> letters_;
    std::map<Index, bool> gone_;
    std::exception_ptr error_;
};
// [local transfer]
class LocalTransfer : public Transfer {
public:
    LocalTransfer(PostOffice& office, const char* what, Index number, Index rank,
                  std::span<const Room> from)
        : office_(office),
          what_(what),
          number_(number),
          rank_(rank),
          from_(from.begin(), from.end()) {}

    std::vector<Index> missing() override {
        std::vector<Index> ranks;
        for (Index r = 0; r < static_cast<Index>(from_.size()); ++r)
            if (!room(r).empty() && !office_.has({number_, r, rank_})) ranks.push_back(r);
        return ranks;
    }

    void wait() override {
        for (Index r = 0; r < static_cast<Index>(from_.size()); ++r) {
            if (room(r).empty()) continue;
            const std::vector<std::byte> letter = office_.fetch({number_, r, rank_});
            if (letter.size() != room(r).size())
                throw std::runtime_error(fmt::format(
                    "ranks: rank {} sent {} bytes to rank {}, which has room for {}, in {}", r,
                    letter.size(), rank_, room(r).size(), what_));
            std::copy(letter.begin(), letter.end(), room(r).begin());
            room(r) = {};
        }
    }

private:
    Room& room(Index r) { return from_[static_cast<std::size_t>(r)]; }

    PostOffice& office_;
    const char* what_;
    Index number_, rank_;
    std::vector<Room> from_;
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
        for (Index r = 0; r < size_; ++r)
            if (const Message& message = to[static_cast<std::size_t>(r)]; !message.empty())
                office_.put({number_, rank_, r}, message);
        return std::make_unique<LocalTransfer>(office_, what, number_, rank_, from);
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
