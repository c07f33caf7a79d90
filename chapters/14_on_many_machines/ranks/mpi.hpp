#pragma once

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [mpi]
/// Whether this program was built with MPI.
bool has_mpi();
/// Whether MPI started this process, through `mpirun` or `srun` for instance.
/// @throws std::runtime_error if Slurm started several processes that are not ranks of one run
bool started_by_mpi();
/// The engine for the ranks that MPI started, of which this process is one. Make one per process.
/// @throws std::runtime_error if this program was built without MPI, or with another MPI library
///         than the one that started it
std::unique_ptr<Engine> make_mpi_engine();
/// Call this before a rank's process returns `status` from `main`. If `status` is not 0, the other
/// ranks end, too, instead of waiting for this one. @return `status`
int end_mpi(int status);
// [launch]
/// Runs a program on `n` ranks of this machine with `mpirun`. If a rank is killed, the others end
/// within seconds, and one line on stderr says which one it was, if `mpirun` tells.
/// @param arguments  the program and its arguments
/// @return           its exit status
/// @throws std::runtime_error that says what is missing
int launch_mpi(Index n, const std::vector<std::string>& arguments);

}  // namespace abh
