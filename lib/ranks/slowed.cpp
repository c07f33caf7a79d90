#include "lib/ranks/slowed.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace abh {
// [slowed]
namespace {

using Clock = std::chrono::steady_clock;

class SlowedTransfer : public Transfer {
public:
    SlowedTransfer(std::unique_ptr<Transfer> transfer, Clock::time_point due,
                   std::vector<Index> others)
        : transfer_(std::move(transfer)), due_(due), others_(std::move(others)) {}

    std::vector<Index> missing() override {
        std::vector<Index> ranks = transfer_->missing();
        return Clock::now() < due_ ? others_ : ranks;
    }
    void wait() override {
        transfer_->wait();
        std::this_thread::sleep_until(due_);
    }

private:
    std::unique_ptr<Transfer> transfer_;
    Clock::time_point due_;
    std::vector<Index> others_;  ///< with whom messages are exchanged
};

class SlowedEngine : public Engine {
public:
    SlowedEngine(std::unique_ptr<Engine> engine, Slowness link)
        : engine_(std::move(engine)), link_(link) {}
    Index rank() const override { return engine_->rank(); }
    Index size() const override { return engine_->size(); }
    bool on_device() const override { return engine_->on_device(); }

    std::unique_ptr<Transfer> exchange(const char* what, std::span<const Message> to,
                                       std::span<const Room> from) override {
        std::size_t sent = 0, received = 0;
        std::vector<Index> others;
        for (std::size_t r = 0; r < to.size(); ++r) {
            sent += to[r].size();
            received += from[r].size();
            if (!to[r].empty() || !from[r].empty()) others.push_back(static_cast<Index>(r));
        }
        const std::chrono::duration<double> taken(static_cast<double>(std::max(sent, received)) *
                                                  link_.seconds_per_byte),
            late(others.empty() ? 0 : link_.latency);
        free_ = std::max(free_, Clock::now()) + std::chrono::duration_cast<Clock::duration>(taken);
        return std::make_unique<SlowedTransfer>(
            engine_->exchange(what, to, from),
            free_ + std::chrono::duration_cast<Clock::duration>(late), std::move(others));
    }

private:
    std::unique_ptr<Engine> engine_;
    Slowness link_;
    Clock::time_point free_;  ///< when the link has done with all messages so far
};

}  // namespace

std::unique_ptr<Engine> slowed(std::unique_ptr<Engine> engine, Slowness link) {
    return std::make_unique<SlowedEngine>(std::move(engine), link);
}

}  // namespace abh
