#pragma once

#include <string>

#include "chapters/09_training/model/transformer.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [systems]
/// The model of a source text: `toy`, `notebook`, `article` or `shared_heads`.
/// @throws std::invalid_argument for another name
TransformerOptions preset(const std::string& name);
/// Builds the systems of the four source texts, each at its own size, and runs a batch through it.
/// @param device   name of the device, as the shared-head block prints it
/// @param results  receives `NAME_parameters`
void show_systems(const std::string& device, std::uint64_t seed, Results& results);

}  // namespace abh
