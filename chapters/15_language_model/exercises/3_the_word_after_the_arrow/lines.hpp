#pragma once

#include <string>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::judge {

/// The targets with the mistake `what`, or with none if that is "right".
inline Ids targets_with(const std::string& what, const Ids& lines, std::int32_t arrow) {
    std::vector<std::int32_t> targets;
    bool after = false;  // the word, or what stands before it, is the arrow
    for (Index b = 0; b < lines.dim(0); ++b) {
        if (b == 0 || what != "the second line's source counts, too") after = false;
        for (Index t = 0; t + 1 < lines.dim(1); ++t) {
            const std::int32_t word = lines(b, t), next = lines(b, t + 1);
            const bool was_after = after, last = t + 2 == lines.dim(1) || lines(b, t + 2) == 0;
            after = after || word == arrow;
            if (next == 0) {
                if (what == "pads have rows, too") targets.push_back(0);
                continue;
            }
            const bool counts = what == "the arrow counts, too" ? after || next == arrow
                                : what == "the word after the arrow is not asked for" ? was_after
                                : what == "the end symbol is not asked for" ? after && !last
                                : what == "every word counts"               ? true
                                                                            : after;
            targets.push_back(!counts                                         ? 0
                              : what == "each row must say the word it reads" ? word
                                                                              : next);
        }
    }
    Ids result({1, static_cast<Index>(targets.size())});
    for (std::size_t row = 0; row < targets.size(); ++row) result.values()[row] = targets[row];
    return result;
}

}  // namespace abh::judge
