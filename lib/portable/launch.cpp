// [launch]
// Starts the program of its own name that was built for the newest level of x86-64 that this
// processor has: LEVEL/NAME in its own folder. The environment variable ABH_LEVEL asks for another.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace {

/// The levels of the x86-64 psABI: v3 has AVX2 and FMA, v4 has AVX-512.
const char* newest_level() {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "x86-64-v2";
}

}  // namespace

int main(int, char** argv) {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    const char* const wish = std::getenv("ABH_LEVEL");
    const std::string level = wish ? wish : newest_level();
    const std::string program = self.parent_path() / level / self.filename();
    ::execv(program.c_str(), argv);
    std::fprintf(stderr, "%s: cannot start %s: %s\n", argv[0], program.c_str(),
                 std::strerror(errno));
    return 1;
}
