#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/parameter.hpp"

namespace abh {
// [watch]
/// Watches backward add to the gradients of a model, and knows which of them are complete.
///
/// A gradient says only that somebody is about to add to it. But a layer's backward adds to its own
/// gradients alone: once it is another layer's turn, this one has added. A tied table belongs to
/// several layers, so it is complete after several turns. The first backward that is watched counts
/// how many each layer has, and nothing is complete before it is over.
class GradientWatch {
public:
    /// @param parameters  of the model; what stands before the last dot of a name is its layer
    /// @param turned      called when it is another layer's turn
    GradientWatch(const Parameters& parameters, std::function<void()> turned);
    ~GradientWatch();
    GradientWatch(const GradientWatch&) = delete;
    GradientWatch& operator=(const GradientWatch&) = delete;

    /// From here on, watches `backwards` backwards, which together make up the gradients; 0: none.
    void begin(Index backwards);
    /// They are over.
    void end();
    /// Whether nothing more will be added to the gradient of this parameter before `end`.
    bool complete(std::size_t parameter) const;

private:
    void listen(bool on);
    void add(std::size_t layer);

    Parameters parameters_;
    std::function<void()> turned_;
    std::vector<std::string> layers_;    ///< their names
    std::vector<std::size_t> layer_;     ///< of each parameter
    std::vector<Index> turns_, so_far_;  ///< of each layer: in a backward, in these backwards
    std::size_t now_ = 0;                ///< the layer whose turn it is
    Index backwards_ = 0;
    bool watches_ = false;
};

}  // namespace abh
