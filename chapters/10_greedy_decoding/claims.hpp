#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/09_training/model/transformer.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [claims]
/// Numbers, each under its name.
using Claims = std::map<std::string, double>;

/// What the pages say about a model of the grammar, counted over the held-out pairs: what it
/// translates, where it looks, and what becomes of its translations when something is changed in
/// it. Shares are between 0 and 1.
/// @param model  is changed while it is measured, and left as it was
/// @param start  the same model before training
Claims claims_of(Transformer& model, const Transformer& start, const Corpus& corpus);
/// How many held-out pairs of each kind are translated exactly: `combination`, `swapped` and
/// `both_ways`.
Claims exact_by_kind(const Transformer& model, const Corpus& corpus);
// [seeds]
/// Trains the grammar's model with five seeds, and for comparison without position codes, and with
/// tables that start with deviation 1. Prints what is claimed of each.
/// @param results  receives `NAME_least` and `NAME_most` for each claim, and `seedN_NAME` for each
///                 seed; names of the other models begin with `without_codes_` and `wide_`
void show_seeds(Results& results);

}  // namespace abh
