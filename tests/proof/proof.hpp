#pragma once

// All components, and their two proofs: finite differences, and fixtures made by PyTorch.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lib/io/safetensors.hpp"
#include "tests/proof/trial.hpp"

namespace abh::proof {

struct Component {
    std::string name;  ///< that of its fixture, where it has one
    int chapter;
    Maker make;
    bool in_pytorch = true;    ///< false: it drops out at random, and PyTorch drops others
    bool has_gradient = true;  ///< false: a mask
};

/// tests/golden/components.py has the same list.
const std::vector<Component>& components();

/// Every gradient of a component against central differences: sizes, inputs, weights and cotangent
/// are drawn from `seed`.
Differences check_differences(const Component& component, std::uint64_t seed);

/// What PyTorch made of a component: some cases, each with its sizes.
struct Fixture {
    TensorFile file;  ///< whose tensors are called `CASE/NAME`
    std::map<std::string, Sizes> cases;

    explicit Fixture(const std::filesystem::path& path);
};

/// The component with the inputs, ids and weights of one case.
Trial load_trial(const Component& component, const Fixture& fixture, const std::string& name);

/// How far one tensor of ours is from PyTorch's in double precision.
struct Distance {
    std::string name;       ///< `CASE/grad.w_q.weight`
    double relative = 0;    ///< largest difference over largest element
    double of_pytorch = 0;  ///< the same of PyTorch's own single precision
    Index element = -1;     ///< where the difference is largest
    double ours = 0, theirs = 0;
    bool is_gradient = false;
};

std::string to_string(const Distance& distance);

/// `largest |ours - theirs| / largest |theirs|`; below `floor` the largest counts as `floor`.
Distance distance(const std::string& name, const Tensor& ours, const Tensor& theirs, double floor);

/// The output and every gradient of a component, in every case of its fixture `FOLDER/NAME`. A
/// small gradient is held against a hundredth of the largest gradient of the case; one that is zero
/// but for round-off, as that of a key's bias, against the largest.
/// @throws std::exception if a tensor is missing, superfluous or of another shape
std::vector<Distance> compare(const Component& component, const std::filesystem::path& folder);

}  // namespace abh::proof
