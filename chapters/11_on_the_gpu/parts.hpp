#pragma once

#include <string>
#include <vector>

namespace abh {
// [parts]
/// Operations and bytes of one part of a training step, forward, each tensor read or written once.
struct Part {
    std::string name;
    double flops, numbers;  ///< numbers of 4 bytes that are read or written

    double intensity() const { return flops / (4 * numbers); }
};

/// The base model of 2017 on 64 sentences of 64 words: what bounds its parts?
std::vector<Part> parts_of_a_step();

}  // namespace abh
