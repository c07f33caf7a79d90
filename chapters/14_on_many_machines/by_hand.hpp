#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [by hand]
/// Prints a ring all-reduce of four numbers on three ranks, by rounds, and a sum in three orders.
/// @param results  receives `ring_numbers`, and how far each sum is above 1, in the spacing of
///                 single precision there: `forward_steps`, `backward_steps`, `tree_steps`
void show_by_hand(Results& results);

}  // namespace abh
