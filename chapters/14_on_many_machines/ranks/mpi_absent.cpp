#include <stdexcept>

#include "chapters/14_on_many_machines/ranks/mpi.hpp"

namespace abh {
// [no mpi]
bool has_mpi() {
    return false;
}

std::unique_ptr<Engine> make_mpi_engine() {
    throw std::runtime_error(
        "ranks: this program was built without MPI; on Debian, install libopenmpi-dev and "
        "openmpi-bin, and build again");
}

int end_mpi(int status) {
    return status;
}

}  // namespace abh
