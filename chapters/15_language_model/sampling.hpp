#pragma once

#include <vector>

#include "lib/random.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [options]
/// How the next word is chosen from its logits. The defaults draw from softmax as it is.
struct SamplingOptions {
    Real temperature = 1;  ///< logits are divided by it; 0 takes the likeliest word
    Index top_k = 0;       ///< only the k likeliest words may come; 0: all
    Real top_p = 1;        ///< only the likeliest words that together have this probability
};
// [sampling]
/// The probabilities from which a word is drawn: softmax of the logits over the temperature, then
/// 0 for all but the likeliest `top_k` words, then 0 for all but the fewest words whose
/// probabilities add up to `top_p` of what is left; the rest adds up to 1. Of equal words the first
/// counts as the likelier one.
/// @param logits  `[n_words]`
/// @throws std::invalid_argument if an option is out of range, if a logit is NaN, or if the largest
///         is not finite
std::vector<double> sampling_probabilities(const Tensor& logits,
                                           const SamplingOptions& options = {});
/// The word at which the sum of the probabilities first exceeds `u`.
/// @param u  in [0, 1): the same number always chooses the same word
std::int32_t sample(const std::vector<double>& p, double u);

}  // namespace abh
