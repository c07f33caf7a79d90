#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <stdexcept>

#include "chapters/14_on_many_machines/ranks/mpi.hpp"

namespace abh {
// [started]
bool started_by_mpi() {
    // set by Open MPI; by MPICH and others that speak PMI, such as srun; and by PMIx
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"})
        if (std::getenv(name)) return true;
    if (const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS"); tasks && std::atoi(tasks) > 1)
        throw std::runtime_error(fmt::format(
            "ranks: srun started {} programs that do not know of one another; use srun --mpi=pmix "
            "with Open MPI, srun --mpi=pmi2 with MPICH",
            tasks));
    return false;
}
// [mpirun]
namespace {

/// Replaces this process by mpirun, with standard error going into `pipe`.
[[noreturn]] void become_mpirun(Index n, const std::vector<std::string>& arguments, int pipe) {
    // unless told otherwise, Open MPI refuses to run as root, as in a container, or with more ranks
    // than cores; MPICH ignores these variables
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                             "OMPI_MCA_rmaps_base_oversubscribe"})
        ::setenv(name, "1", 0);
    ::setenv("UCX_HANDLE_ERRORS", "none", 0);  // MPICH: no stack trace when a rank is gone
    ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);  // threads may use any core
    std::vector<std::string> words{"mpirun", "-n", std::to_string(n)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // when this program is ended, so are its ranks
#endif
    ::dup2(pipe, STDERR_FILENO);
    ::execvp("mpirun", pointers.data());
    fmt::print(stderr, "cannot start mpirun: {}; on Debian, install openmpi-bin\n",
               std::strerror(errno));
    std::_Exit(127);
}
// [pass on]
/// Prints one line saying that a rank was killed.
void say_killed(const std::string& rank, const std::string& signal) {
    fmt::print(stderr,
               "{} was ended by {}, and the other ranks with it; --resume continues from the "
               "last saved state\n",
               rank, signal);
}

/// What mpirun itself said, apart from what the ranks did.
struct Said {
    bool killed = false;  ///< a line has said which rank was
    std::string box;      ///< the last of Open MPI's texts between two lines of dashes
};

/// The mpirun that ended_in_vain ends.
volatile pid_t waiting_for = 0;

/// Ends an mpirun that stays after its ranks are gone: Open MPI 4.1's may wait for itself forever.
void ended_in_vain(int) {
    ::kill(waiting_for, SIGKILL);
}

/// Passes on what the ranks print, and shortens mpirun's own words to a line on the killed rank;
/// from then on `mpirun` has ten seconds to end.
Said pass_on(std::FILE* from, pid_t mpirun) {
    static const std::regex killed("process rank ([0-9]+) .* signal ([0-9]+)");
    bool boxed = false;
    Said said;
    char* line = nullptr;
    std::size_t room = 0;
    while (::getline(&line, &room, from) >= 0) {
        const std::string text(line);
        std::smatch found;
        if (text.starts_with("-----")) {
            boxed = !boxed;
            if (boxed) said.box.clear();
        } else if (boxed) {
            said.box += text;
            if (!std::regex_search(text, found, killed)) continue;
            say_killed("rank " + found.str(1), "signal " + found.str(2));
            said.killed = true;
            waiting_for = mpirun;
            std::signal(SIGALRM, ended_in_vain);
            ::alarm(10);
        } else if (!text.starts_with("["))  // lines with [host:pid] are mpirun's own
            std::fputs(line, stderr);
    }
    std::free(line);
    return said;
}

}  // namespace
// [launch]
int launch_mpi(Index n, const std::vector<std::string>& arguments) {
    if (!has_mpi()) make_mpi_engine();  // throws and says what is missing
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("ranks: cannot create a pipe");
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("ranks: cannot create a process");
    if (child == 0) {
        ::close(ends[0]);
        become_mpirun(n, arguments, ends[1]);
    }
    ::close(ends[1]);
    std::FILE* const from = ::fdopen(ends[0], "r");
    const Said said = pass_on(from, child);
    std::fclose(from);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::alarm(0);
    if (!WIFEXITED(status)) return 128 + WTERMSIG(status);
    constexpr int error = 1, not_started = 127;
    const int code = WEXITSTATUS(status);
    if (said.killed || code == 0 || code == not_started) return code;
    // MPICH's mpirun does not say which one, nor does Open MPI's of a rank that has only just begun
    if (code > 128 || (code > error && said.box.empty()))
        say_killed("a rank", "a signal");
    else if (code > error || said.box.find("MPI_ABORT") == std::string::npos)
        std::fputs(said.box.c_str(), stderr);  // unless the rank itself has said why
    return code;
}

}  // namespace abh
