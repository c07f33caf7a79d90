#include "chapters/14_on_many_machines/ranks/slowed.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace abh {
// [slowed]
namespace {

class SlowedTransfer : public Transfer {
public:
    SlowedTransfer(std::unique_ptr<Transfer> transfer, double due, std::vector<Index> others,
                   const Timer& timer)
        : transfer_(std::move(transfer)), due_(due), others_(std::move(others)), timer_(timer) {}

    std::vector<Index> missing() override {
        std::vector<Index> ranks = transfer_->missing();
        return timer_.now() < due_ ? others_ : ranks;
    }
    void wait() override {
        transfer_->wait();
        timer_.sleep_until(due_);
    }

private:
    std::unique_ptr<Transfer> transfer_;
    double due_;
    std::vector<Index> others_;  ///< the ranks with which messages are exchanged
    Timer timer_;
};

class SlowedEngine : public Engine {
public:
    SlowedEngine(std::unique_ptr<Engine> engine, Slowness link, Timer timer)
        : engine_(std::move(engine)), link_(link), timer_(std::move(timer)), free_(timer_.now()) {}
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
        const double taken = static_cast<double>(std::max(sent, received)) * link_.seconds_per_byte;
        const double late = others.empty() ? 0 : link_.latency;
        free_ = std::max(free_, timer_.now()) + taken;
        return std::make_unique<SlowedTransfer>(engine_->exchange(what, to, from), free_ + late,
                                                std::move(others), timer_);
    }

private:
    std::unique_ptr<Engine> engine_;
    Slowness link_;
    Timer timer_;
    double free_;  ///< when the link will have carried all messages so far
};

}  // namespace

Timer steady_timer() {
    using Clock = std::chrono::steady_clock;
    using Seconds = std::chrono::duration<double>;
    const Clock::time_point start = Clock::now();
    return {[start] { return Seconds(Clock::now() - start).count(); },
            [start](double time) {
                std::this_thread::sleep_until(
                    start + std::chrono::duration_cast<Clock::duration>(Seconds(time)));
            }};
}

std::unique_ptr<Engine> slowed(std::unique_ptr<Engine> engine, Slowness link, Timer timer) {
    return std::make_unique<SlowedEngine>(std::move(engine), link, std::move(timer));
}

}  // namespace abh
