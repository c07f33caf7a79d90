// Where there is no libFuzzer: runs the fuzzer's function once on each file that is named, or lies
// in a folder that is. Options, which begin with -, are for libFuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "lib/io/files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    std::vector<std::filesystem::path> files;
    for (int i = 1; i < argc; ++i) {
        if (argv[i][0] == '-') continue;
        if (std::filesystem::is_directory(argv[i]))
            for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
                files.push_back(entry.path());
        else
            files.emplace_back(argv[i]);
    }
    for (const auto& file : files) {
        std::printf("%s\n", file.c_str());
        std::fflush(stdout);  // the last name is that of the one that fails
        const std::string bytes = abh::read_file(file);
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    std::printf("%zu files\n", files.size());
    return files.empty() ? 1 : 0;
}
