#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "chapters/14_on_many_machines/ranks/mpi.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <thread>

namespace abh {
// [mpi transfer]
namespace {

constexpr int tag = 7;

class MpiTransfer : public Transfer {
public:
    MpiTransfer(std::span<const Message> to, std::span<const Room> from) {
        for (std::size_t r = 0; r < from.size(); ++r) begin(MPI_Irecv, from[r], r);
        for (std::size_t r = 0; r < to.size(); ++r) begin(MPI_Isend, to[r], r);
    }

    bool complete() override {
        int all = 0;
        MPI_Testall(size(), requests_.data(), &all, MPI_STATUSES_IGNORE);
        return all != 0;
    }

    void wait() override { MPI_Waitall(size(), requests_.data(), MPI_STATUSES_IGNORE); }

private:
    /// Starts to receive from rank r, or to send to it, unless there is nothing to transfer.
    template <class Call, class Bytes>
    void begin(const Call& call, Bytes bytes, std::size_t r) {
        if (bytes.empty()) return;
        requests_.push_back(MPI_REQUEST_NULL);
        call(bytes.data(), count(bytes.size()), MPI_BYTE, static_cast<int>(r), tag, MPI_COMM_WORLD,
             &requests_.back());
    }
    static int count(std::size_t bytes) {
        require(bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
                "mpi: a message of {} bytes, expected less than 2 GiB", bytes);
        return static_cast<int>(bytes);
    }

    int size() const { return static_cast<int>(requests_.size()); }

    std::vector<MPI_Request> requests_;
};
// [mpi engine]
class MpiEngine : public Engine {
public:
    MpiEngine() {
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
            if (const char* started = std::getenv(name); started && std::atoi(started) != size_)
                throw std::runtime_error(fmt::format(
                    "mpi: {} processes were started, but this one sees {}: does mpirun belong to "
                    "the MPI library that this program was built with?",
                    started, size_));
    }
    Index rank() const override { return rank_; }
    Index size() const override { return size_; }
    std::unique_ptr<Transfer> exchange(const char*, std::span<const Message> to,
                                       std::span<const Room> from) override {
        return std::make_unique<MpiTransfer>(to, from);
    }

private:
    int rank_ = 0, size_ = 1;
};

}  // namespace

bool has_mpi() {
    return true;
}

std::unique_ptr<Engine> make_mpi_engine() {
    return std::make_unique<MpiEngine>();
}

int end_mpi(int status) {
    int begun = 0, over = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    if (!begun || over) return status;
    if (status != 0) {
        // MPICH would add a line of its own to the program's message, and its mpirun may drop
        // output that it has not passed on by the time of the abort
        static_cast<void>(std::freopen("/dev/null", "w", stderr));
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        MPI_Abort(MPI_COMM_WORLD, status);
    }
    MPI_Finalize();
    return status;
}

}  // namespace abh
