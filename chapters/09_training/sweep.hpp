#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [valley]
/// Prints five steps down the valley (a^2 + 20 b^2) / 2 from a = 10, b = 1. Its gradient is a and
/// 20 b.
/// @param results  receives the arrays `valley_NAME` [2, 13], the places of twelve steps
void show_optimizers(Results& results);
// [sweep]
/// Trains the toy for 60 steps with SGD, Adam and Adam with warm-up, each at several learning rates
/// and with five seeds, and prints the loss with dropout off and the sentences that come out.
/// @param results  receives `KIND_RATE_median`, `_least`, `_most` (of the loss) and `_exact` (of 15
///                 sentences), and the arrays `KIND_rates`, `KIND_losses` [rate, seed],
///                 `KIND_schedule` [rate, step] and `KIND_curves` [rate, seed, step]
void show_sweep(Results& results);

}  // namespace abh
