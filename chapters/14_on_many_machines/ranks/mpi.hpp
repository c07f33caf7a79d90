#pragma once

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [mpi]
/// Whether this program was built with MPI.
bool has_mpi();
/// Whether that is MPICH, or one that descends from it.
bool is_mpich();
/// Whether MPI started this process, `mpirun` or `srun` for instance.
/// @throws std::runtime_error if Slurm started several, and not as ranks
bool started_by_mpi();
/// The ranks that MPI started, this process being one of them. One engine a process.
/// @throws std::runtime_error if this program was built without MPI, or with another one than that
///         which started it
std::unique_ptr<Engine> make_mpi_engine();
/// To be called before a rank's process returns `status` from `main`. Where that is not 0, the
/// other ranks end, too, instead of waiting for this one. @return `status`
int end_mpi(int status);
// [launch]
/// Runs a program on `n` ranks of this machine by `mpirun`. Where a rank is killed, the others end
/// within seconds, and one line on stderr says which it was.
/// @param arguments  the program and its arguments
/// @return           its exit status
/// @throws std::runtime_error saying what is missing
int launch_mpi(Index n, const std::vector<std::string>& arguments);

}  // namespace abh
