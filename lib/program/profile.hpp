#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace abh {
// [profile]
/// Measures from here on how long operations take on this thread, which waits for the others.
/// Blocks may nest: the outer one's own time is what the inner ones leave.
///
/// `Timed` marks a block; each operation is one. Where no profile is being taken it costs nothing.
void start_profile();
// [rows]
/// What all blocks of one name took together.
struct ProfileRow {
    std::string name;
    long calls = 0;
    double ms = 0;  ///< own time
};

/// A row for each name and one for the time outside all blocks, the longest own time first; none
/// where no profile is being taken.
std::vector<ProfileRow> profile_rows();
/// One line for each name, the longest own time first: calls, own time, its share of all.
std::string profile_table();
/// The first quarter of a million blocks one by one, in the format that `chrome://tracing` and
/// Perfetto open.
/// @throws std::runtime_error if the file cannot be written
void save_trace(const std::filesystem::path& path);

}  // namespace abh
