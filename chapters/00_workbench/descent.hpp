#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [descent]
/// Takes one step of length 0.1 against the gradient of the chapter's example, and one against a
/// wrong gradient.
void one_step(Results& results);

/// Lets the example learn its targets with steps of several lengths, and follows the loss along the
/// first one.
void learning(Results& results);

}  // namespace abh
