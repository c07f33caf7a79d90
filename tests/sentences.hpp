#pragma once

// Sentences of a small model's words, which the tests of decoding and of beam search translate.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/tensor.hpp"

/// One sentence, [1, L].
inline abh::Ids row_of(const std::vector<std::int32_t>& words) {
    abh::Ids ids({1, static_cast<abh::Index>(words.size())});
    std::copy(words.begin(), words.end(), ids.data());
    return ids;
}

/// Sentences of 4, 6, 1, 5 and 2 words.
inline const std::vector<std::vector<std::int32_t>> sentences{
    {3, 1, 6, 2}, {5, 5, 1, 2, 4, 3}, {6}, {1, 2, 3, 4, 5}, {2, 6}};

/// All of them, each padded to the longest.
inline abh::Ids padded_batch() {
    abh::Ids ids = abh::Ids::zeros({5, 6});
    for (std::size_t b = 0; b < sentences.size(); ++b)
        std::copy(sentences[b].begin(), sentences[b].end(), &ids(b, 0));
    return ids;
}
