#pragma once

#include "lib/program/output.hpp"

namespace abh::example {
// [idea]
/// Prints and records what the page shows of the idea: a soft look-up by hand, a mask that comes
/// too late, rows that are saturated, and what a tiny translator learns by attention.
void show_idea(Results& results);

}  // namespace abh::example
