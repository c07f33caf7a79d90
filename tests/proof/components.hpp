#pragma once

// Every component of the book behind one face, so that one piece of code can hold all of them
// against finite differences and against PyTorch. tests/golden/components.py has the same list.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/parameter.hpp"
#include "lib/random.hpp"
#include "lib/tensor.hpp"

namespace abh::proof {

/// The sizes of one trial; a component takes those that it knows.
struct Sizes {
    Index batch = 3, length = 5, keys = 7, d_model = 15, n_heads = 3, d_ff = 11;
    Index src_words = 11, tgt_words = 13, n_layers = 2;
};

/// Sizes for a gradient check, small enough for differences of a whole Transformer.
Sizes random_sizes(const Stream& stream);

using Gradients = std::map<std::string, Tensor>;

/// A forward pass, as in training, and its backward pass.
struct Pass {
    Tensor y;
    /// Adds to the parameters' gradients; returns those of the inputs, under their names.
    std::function<Gradients(const Tensor& dy)> backward = {};
};

/// A component with its inputs. `forward` reads the tensors of `inputs`, `ids` and `parameters`
/// anew at each call, so whoever writes into them changes the trial.
struct Trial {
    std::map<std::string, Tensor> inputs = {};  ///< those that have a gradient
    std::map<std::string, Ids> ids = {};        ///< those that have none: ids, and masks of 0 and 1
    Parameters parameters = {};
    std::vector<Tensor> padded = {};  ///< tables among the parameters whose row 0 is a constant
    std::function<Pass()> forward = {};
};

/// Makes a trial of these sizes, with random inputs and weights.
using Maker = std::function<Trial(const Sizes&, Random&)>;

struct Component {
    std::string name;  ///< that of its fixture, where it has one
    int chapter;
    Maker make;
    bool in_pytorch = true;    ///< false: it drops out at random, and PyTorch drops others
    bool has_gradient = true;  ///< false: a mask
};

const std::vector<Component>& components();

}  // namespace abh::proof
