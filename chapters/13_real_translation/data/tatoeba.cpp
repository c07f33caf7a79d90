#include "chapters/13_real_translation/data/tatoeba.hpp"

#include <cstdlib>

namespace abh {
// [tatoeba]
std::filesystem::path tatoeba_file() {
    const char* const elsewhere = std::getenv("ABH_TATOEBA");
    return elsewhere ? elsewhere : ABH_TATOEBA;
}

ParallelText tatoeba(CleanCounts* counts) {
    const PairFiles chinese_to_english{tatoeba_file(), "", 2, 1};
    return split_pairs(read_pairs(chinese_to_english, {}, counts), 1000, 1000);
}

}  // namespace abh
