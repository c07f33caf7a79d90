#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace abh {
// [profile]
/// Measures the block that it stands in, where a profile is being taken; costs nothing else.
///
///     Tensor softmax(const Tensor& x) {
///         const Timed timed("softmax");
///
/// Blocks may nest: the outer one's own time is what the inner ones leave. Only the thread that
/// started the profile is measured; it waits for the others.
class Timed {
public:
    /// @param name  a literal: it is kept, not copied
    explicit Timed(const char* name);
    ~Timed();
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

private:
    bool on_;
};

/// From here on blocks are measured on this thread.
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
