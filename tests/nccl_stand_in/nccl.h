#pragma once

// Stands in for NCCL as cuda_runtime.h, beside it, does for CUDA; messages go from thread to
// thread. Like NCCL, it pairs sends and receives of two ranks in their order, starts them when
// their group ends, and refuses two ranks on one device. Stricter than NCCL, it refuses calls
// outside a group and memory that is not a device's.
#include <cuda_runtime.h>

#include <atomic>
#include <condition_variable>
#include <set>
#include <string>
#include <tuple>

namespace {

enum ncclResult_t {
    ncclSuccess,
    ncclUnhandledCudaError,
    ncclSystemError,
    ncclInternalError,
    ncclInvalidArgument,
    ncclInvalidUsage,
    ncclRemoteError
};
enum ncclDataType_t { ncclUint8 = 1 };
struct ncclUniqueId {
    char internal[128];
};
struct ncclComm {
    std::string id;
    int rank;
};
using ncclComm_t = ncclComm*;

namespace stand_in {
std::map<std::tuple<std::string, int, int>, std::deque<std::vector<std::byte>>> letters;
std::map<std::string, std::multiset<int>> devices_of;  ///< of those who came, by id
std::condition_variable somebody_came;
thread_local bool grouped = false;
thread_local std::vector<std::pair<cudaStream_t, std::function<bool()>>> sends, receives;
std::atomic<ncclResult_t> fault = ncclSuccess;  ///< found while messages are under way
std::atomic<int> ids = 0, destroyed = 0, aborted = 0;
}  // namespace stand_in

const char* ncclGetErrorString(ncclResult_t result) {
    static constexpr const char* names[] = {
        "no error",         "unhandled cuda error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage",        "remote process exited"};
    return names[result];
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    std::strcpy(id->internal, std::to_string(++stand_in::ids).c_str());
    return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
    std::unique_lock lock(stand_in::mutex);
    std::multiset<int>& devices = stand_in::devices_of[id.internal];
    devices.insert(stand_in::hidden + stand_in::device);
    stand_in::somebody_came.notify_all();
    stand_in::somebody_came.wait(lock,
                                 [&] { return devices.size() == static_cast<std::size_t>(size); });
    if (std::set<int>(devices.begin(), devices.end()).size() != devices.size())
        return ncclInvalidUsage;
    *comm = new ncclComm{id.internal, rank};
    return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    ++stand_in::destroyed;
    delete comm;
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
    ++stand_in::aborted;
    delete comm;
    return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* result) {
    *result = stand_in::fault;
    return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
    stand_in::grouped = true;
    return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
    for (auto* const calls : {&stand_in::sends, &stand_in::receives}) {
        for (auto& [stream, call] : *calls) stream->add(std::move(call));
        calls->clear();
    }
    stand_in::grouped = false;
    return ncclSuccess;
}
ncclResult_t ncclSend(const void* from, std::size_t bytes, ncclDataType_t, int to, ncclComm_t comm,
                      cudaStream_t stream) {
    if (!stand_in::grouped) return ncclInvalidUsage;
    if (!stand_in::on_device(from, bytes)) return ncclInvalidArgument;
    stand_in::sends.emplace_back(stream, [=, id = comm->id, me = comm->rank] {
        const auto* const first = static_cast<const std::byte*>(from);
        const std::lock_guard lock(stand_in::mutex);
        stand_in::letters[{id, me, to}].emplace_back(first, first + bytes);
        return true;
    });
    return ncclSuccess;
}
ncclResult_t ncclRecv(void* to, std::size_t bytes, ncclDataType_t, int from, ncclComm_t comm,
                      cudaStream_t stream) {
    if (!stand_in::grouped) return ncclInvalidUsage;
    if (!stand_in::on_device(to, bytes)) return ncclInvalidArgument;
    stand_in::receives.emplace_back(stream, [=, id = comm->id, me = comm->rank] {
        const std::lock_guard lock(stand_in::mutex);
        auto& letters = stand_in::letters[{id, from, me}];
        if (letters.empty()) return false;
        if (letters.front().size() != bytes)
            stand_in::fault = ncclInternalError;
        else
            std::memcpy(to, letters.front().data(), bytes);
        letters.pop_front();
        return true;
    });
    return ncclSuccess;
}

}  // namespace
