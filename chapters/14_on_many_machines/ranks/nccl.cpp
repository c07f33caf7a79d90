#include "chapters/14_on_many_machines/ranks/nccl.hpp"

#include <cuda_runtime.h>
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

namespace abh {
// [nccl errors]
namespace {

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess)
        throw std::runtime_error(fmt::format("nccl: {}: {}", what, cudaGetErrorString(status)));
}

void check(ncclResult_t result, const char* what) {
    if (result != ncclSuccess)
        throw std::runtime_error(fmt::format("nccl: {}: {}", what, ncclGetErrorString(result)));
}
// [nccl handles]
/// A point in a stream.
struct Event {
    cudaEvent_t handle = nullptr;

    Event() { check(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming), "event"); }
    Event(const Event&) = delete;
    ~Event() { cudaEventDestroy(handle); }
};

/// The connection to the other ranks, and the stream in which its messages follow one another.
struct Line {
    ncclComm_t ranks = nullptr;
    cudaStream_t stream = nullptr;
    Index open = 0;  ///< transfers that have not ended

    Line() = default;
    Line(const Line&) = delete;
    ~Line() {
        // ending it in order takes all ranks, so not if this one ends with an error
        const bool in_order = open == 0 && std::uncaught_exceptions() == 0;
        if (ranks) in_order ? ncclCommDestroy(ranks) : ncclCommAbort(ranks);
        if (stream) cudaStreamDestroy(stream);
    }
};
// [nccl transfer]
/// A message in the processor's memory goes through a block of device memory. The default stream,
/// which has the copies and kernels, allocates the block, and the line's stream frees it after its
/// use, so that the processor does not wait for either.
class NcclTransfer : public Transfer {
public:
    NcclTransfer(Line& line, const char* what, std::span<const Message> to,
                 std::span<const Room> from)
        : line_(line), what_(what) {
        ++line_.open;
        std::vector<const void*> sent(to.size());
        std::vector<void*> received(from.size());
        for (std::size_t r = 0; r < to.size(); ++r) {
            if (to[r].empty() && from[r].empty()) continue;
            others_.push_back(static_cast<Index>(r));
            if (!to[r].empty()) sent[r] = staged(to[r]);
            if (!from[r].empty()) received[r] = staged(from[r]);
        }
        // start only after the default stream has computed and copied what is sent
        check(cudaEventRecord(event_.handle, nullptr), what_);
        check(cudaStreamWaitEvent(line_.stream, event_.handle, 0), what_);
        start(sent, to, received, from);
        check(cudaEventRecord(event_.handle, line_.stream), what_);
    }
    ~NcclTransfer() override {
        for (void* block : blocks_) cudaFreeAsync(block, line_.stream);
    }

    std::vector<Index> missing() override { return complete() ? std::vector<Index>() : others_; }

    void wait() override {
        while (!complete()) std::this_thread::yield();
        for (const auto& [room, block] : arrivals_)
            check(cudaMemcpy(room.data(), block, room.size(), cudaMemcpyDeviceToHost), what_);
        arrivals_.clear();
        if (!std::exchange(ended_, true)) --line_.open;
    }

private:
    const void* staged(Message message) {
        if (on_device(message.data())) return message.data();
        void* const block = take(message.size());
        check(cudaMemcpy(block, message.data(), message.size(), cudaMemcpyHostToDevice), what_);
        return block;
    }
    void* staged(Room room) {
        if (on_device(room.data())) return room.data();
        return arrivals_.emplace_back(room, take(room.size())).second;
    }
    bool on_device(const void* memory) const {
        cudaPointerAttributes attributes;
        check(cudaPointerGetAttributes(&attributes, memory), what_);
        return attributes.type == cudaMemoryTypeDevice;
    }
    void* take(std::size_t bytes) {
        check(cudaMallocAsync(&blocks_.emplace_back(), bytes, nullptr), what_);
        return blocks_.back();
    }
    // [nccl group]
    /// A group starts all its messages together, in whatever order the other ranks start theirs.
    void start(std::span<const void* const> sent, std::span<const Message> to,
               std::span<void* const> received, std::span<const Room> from) {
        ncclResult_t result = ncclGroupStart();
        for (std::size_t r = 0; r < to.size(); ++r) {
            const int other = static_cast<int>(r);
            if (sent[r] && result == ncclSuccess)
                result =
                    ncclSend(sent[r], to[r].size(), ncclUint8, other, line_.ranks, line_.stream);
            if (received[r] && result == ncclSuccess)
                result = ncclRecv(received[r], from[r].size(), ncclUint8, other, line_.ranks,
                                  line_.stream);
        }
        const ncclResult_t end = ncclGroupEnd();
        check(result, what_);
        check(end, what_);
    }

    bool complete() {
        ncclResult_t result = ncclSuccess;
        check(ncclCommGetAsyncError(line_.ranks, &result), what_);
        check(result, what_);
        const cudaError_t status = cudaEventQuery(event_.handle);
        if (status == cudaErrorNotReady) {
            static_cast<void>(cudaGetLastError());  // otherwise the next kernel is blamed
            return false;
        }
        check(status, what_);
        return true;
    }

    Line& line_;
    const char* what_;
    Event event_;  ///< first what precedes this exchange, then its end
    std::vector<Index> others_;
    std::vector<void*> blocks_;
    std::vector<std::pair<Room, void*>> arrivals_;  ///< still to be copied from the device
    bool ended_ = false;
};
// [nccl engine]
class NcclEngine : public Engine {
public:
    NcclEngine(Index rank, Index size, const ncclUniqueId& id) : rank_(rank), size_(size) {
        check(cudaStreamCreateWithFlags(&line_.stream, cudaStreamNonBlocking), "stream");
        check(ncclCommInitRank(&line_.ranks, static_cast<int>(size), id, static_cast<int>(rank)),
              "start");
    }
    Index rank() const override { return rank_; }
    Index size() const override { return size_; }
    bool on_device() const override { return true; }

    std::unique_ptr<Transfer> exchange(const char* what, std::span<const Message> to,
                                       std::span<const Room> from) override {
        return std::make_unique<NcclTransfer>(line_, what, to, from);
    }

private:
    Index rank_, size_;
    Line line_;
};
// [nccl greetings]
/// What a rank tells the others before NCCL connects them.
struct Greeting {
    ncclUniqueId id{};  ///< only rank 0's is used
    std::array<char, 64> machine{};
    std::array<char, 16> gpu{};  ///< UUID of the GPU that the rank has taken
    bool has_gpu = false;
};

std::vector<Greeting> greet(Engine& start, const Greeting& own) {
    std::vector<Greeting> all(static_cast<std::size_t>(start.size()), own);
    std::vector<Message> to(all.size(), std::as_bytes(std::span(&own, 1)));
    std::vector<Room> from;
    for (Greeting& greeting : all) from.push_back(std::as_writable_bytes(std::span(&greeting, 1)));
    const auto me = static_cast<std::size_t>(start.rank());
    to[me] = {};
    from[me] = {};
    start.exchange("greetings", to, from)->wait();
    return all;
}

}  // namespace
// [make nccl engine]
bool each_takes_gpu(Engine& start) {
    Greeting own;
    ::gethostname(own.machine.data(), own.machine.size() - 1);
    std::vector<Greeting> ranks = greet(start, own);
    const auto before = static_cast<int>(
        std::ranges::count(ranks.begin(), ranks.begin() + start.rank(), own.machine,
                           &Greeting::machine));  // ranks on this machine
    int devices = 0;
    own.has_gpu = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
    if (own.has_gpu) {
        cudaDeviceProp properties{};
        check(cudaSetDevice(before % devices), "device");
        check(cudaGetDeviceProperties(&properties, before % devices), "device properties");
        own.gpu = std::to_array(properties.uuid.bytes);
    }
    ranks = greet(start, own);
    std::set<std::array<char, 16>> gpus;
    return std::ranges::all_of(
        ranks, [&](const Greeting& rank) { return rank.has_gpu && gpus.insert(rank.gpu).second; });
}

std::unique_ptr<Engine> make_nccl_engine(Engine& start) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "devices");  // having none is an error
    each_takes_gpu(start);                           // if two ranks share one, NCCL reports it
    Greeting own;
    if (start.rank() == 0) check(ncclGetUniqueId(&own.id), "id");
    return std::make_unique<NcclEngine>(start.rank(), start.size(), greet(start, own).front().id);
}

}  // namespace abh
