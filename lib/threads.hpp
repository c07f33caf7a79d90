#pragma once

namespace abh {
// [threads]
/// Sets how many threads fast ways use, the calling one included. 1 at the start.
/// @throws std::invalid_argument unless 1 <= n <= 256
void set_threads(int n);
int threads();

}  // namespace abh
