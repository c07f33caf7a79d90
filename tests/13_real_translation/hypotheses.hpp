#pragma once

// What beam search finds, compared.
#include <algorithm>
#include <vector>

#include "chapters/13_real_translation/search/beam_search.hpp"

/// Whether words, scores and ends are the same, to the last bit.
inline bool same(const std::vector<abh::Hypothesis>& a, const std::vector<abh::Hypothesis>& b) {
    return std::ranges::equal(a, b, [](const abh::Hypothesis& x, const abh::Hypothesis& y) {
        return x.ids == y.ids && x.score == y.score && x.log_probability == y.log_probability &&
               x.finished == y.finished;
    });
}
