// Exercise 15.3: the word after the arrow.
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

/// What a language model must say in each row of a packed batch: the next word of its line, if that
/// is a word of the translation.
/// @param lines  words, the arrow, words, the end symbol, then pads, [B, L]; the pad has id 0
/// @return       [1, rows], a row for each word that has a next one; 0 where no word is asked for
Ids targets_of(const Ids& lines, std::int32_t arrow) {
    std::vector<std::int32_t> targets;
    for (Index b = 0; b < lines.dim(0); ++b) {
        bool counts = false;
        for (Index t = 0; t + 1 < lines.dim(1) && lines(b, t + 1) != 0; ++t) {
            // solution
            counts = counts || lines(b, t) == arrow;
            targets.push_back(counts ? lines(b, t + 1) : 0);
            // stub
            // targets.push_back(counts ? lines(b, t + 1) : 0);
            // counts = counts || lines(b, t) == arrow;
            // end
        }
    }
    Ids result({1, static_cast<Index>(targets.size())});
    for (std::size_t row = 0; row < targets.size(); ++row) result.values()[row] = targets[row];
    return result;
}

/// Your test of a function that should do the same as `targets_of`.
/// @return  true if `f` is right
bool accepts(const std::function<Ids(const Ids& lines, std::int32_t arrow)>& f) {
    // solution
    // word 9 is the arrow, and word 1 the end symbol
    const Ids lines({2, 6}, {3, 4, 9, 5, 6, 1, 7, 9, 1, 0, 0, 0}), found = f(lines, 9);
    const Ids right({1, 7}, {0, 0, 5, 6, 1, 0, 1});
    if (!(found.shape() == right.shape())) return false;
    for (Index row = 0; row < 7; ++row)
        if (found(0, row) != right(0, row)) return false;
    return true;
    // stub
    // (void)f;
    // return true;
    // end
}

}  // namespace abh::mine
