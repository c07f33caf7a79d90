#pragma once

#include <filesystem>

#include "chapters/13_real_translation/data/parallel_text.hpp"

namespace abh {
// [tatoeba]
/// The file of Chinese-English pairs that comes with the book: English, Chinese, attribution.
/// The environment variable ABH_TATOEBA names another place.
std::filesystem::path tatoeba_file();
/// Its pairs from Chinese to English, cleaned and split: the same on every machine.
/// @param counts  if given, what was kept and left out is added to it
/// @throws std::runtime_error naming the file if it cannot be read
ParallelText tatoeba(CleanCounts* counts = nullptr);

}  // namespace abh
