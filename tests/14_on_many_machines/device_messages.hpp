#pragma once

// An engine whose messages stand in the device's memory, real or emulated, as NCCL's do.
#include <utility>
#include <vector>

#include "chapters/14_on_many_machines/ranks/engine.hpp"
#include "lib/cuda/runtime.hpp"

namespace device_messages {

using Bytes = std::vector<std::byte>;

/// The device gets what has come when it is waited for.
class Transfer : public abh::Transfer {
public:
    Transfer(abh::Engine& engine, const char* what, std::span<const abh::Message> to,
             std::span<const abh::Room> from)
        : sent_(to.size()), received_(from.size()), from_(from.begin(), from.end()) {
        std::vector<abh::Message> messages(to.begin(), to.end());
        std::vector<abh::Room> rooms(from.begin(), from.end());
        for (std::size_t r = 0; r < to.size(); ++r) {
            if (!to[r].empty()) {
                sent_[r].resize(to[r].size());
                abh::cuda::device().copy_bytes(sent_[r].data(), to[r].data(), to[r].size());
                messages[r] = sent_[r];
            }
            if (!from[r].empty()) {
                received_[r].resize(from[r].size());
                rooms[r] = received_[r];
            }
        }
        transfer_ = engine.exchange(what, messages, rooms);
    }
    std::vector<abh::Index> missing() override { return transfer_->missing(); }
    void wait() override {
        transfer_->wait();
        for (std::size_t r = 0; r < from_.size(); ++r) {
            const Bytes bytes = std::exchange(received_[r], {});
            if (!bytes.empty())
                abh::cuda::device().copy_bytes(from_[r].data(), bytes.data(), bytes.size());
        }
    }

private:
    std::vector<Bytes> sent_, received_;
    std::vector<abh::Room> from_;
    std::unique_ptr<abh::Transfer> transfer_;
};

class Engine : public abh::Engine {
public:
    explicit Engine(std::unique_ptr<abh::Engine> inner) : inner_(std::move(inner)) {}
    abh::Index rank() const override { return inner_->rank(); }
    abh::Index size() const override { return inner_->size(); }
    bool on_device() const override { return true; }
    std::unique_ptr<abh::Transfer> exchange(const char* what, std::span<const abh::Message> to,
                                            std::span<const abh::Room> from) override {
        return std::make_unique<Transfer>(*inner_, what, to, from);
    }

private:
    std::unique_ptr<abh::Engine> inner_;
};

}  // namespace device_messages
