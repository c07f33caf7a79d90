#include "chapters/14_on_many_machines/ranks/slowed.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "lib/program/stopwatch.hpp"

namespace abh {
// [slowed]
namespace {

class SlowedTransfer : public Transfer {
public:
    SlowedTransfer(std::unique_ptr<Transfer> transfer, double due)
        : transfer_(std::move(transfer)), due_(due) {}

    bool complete() override { return transfer_->complete() && steady_ms() >= due_; }
    void wait() override {
        transfer_->wait();
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(due_ - steady_ms()));
    }

private:
    std::unique_ptr<Transfer> transfer_;
    double due_;  ///< in ms, by `steady_ms`
};

class SlowedEngine : public Engine {
public:
    SlowedEngine(std::unique_ptr<Engine> engine, Link link)
        : engine_(std::move(engine)), link_(link) {}
    Index rank() const override { return engine_->rank(); }
    Index size() const override { return engine_->size(); }

    std::unique_ptr<Transfer> exchange(const char* what, std::span<const Message> to,
                                       std::span<const Room> from) override {
        std::size_t sent = 0, received = 0;
        for (std::size_t r = 0; r < to.size(); ++r) {
            sent += to[r].size();
            received += from[r].size();
        }
        const double taken = static_cast<double>(std::max(sent, received)) * link_.seconds_per_byte;
        const double late = sent + received == 0 ? 0 : 1e3 * link_.latency;
        free_ = std::max(free_, steady_ms()) + 1e3 * taken;
        return std::make_unique<SlowedTransfer>(engine_->exchange(what, to, from), free_ + late);
    }

private:
    std::unique_ptr<Engine> engine_;
    Link link_;
    double free_ = 0;  ///< the moment, in ms, when the link will have carried all messages so far
};

}  // namespace

std::unique_ptr<Engine> slowed(std::unique_ptr<Engine> engine, Link link) {
    return std::make_unique<SlowedEngine>(std::move(engine), link);
}

}  // namespace abh
