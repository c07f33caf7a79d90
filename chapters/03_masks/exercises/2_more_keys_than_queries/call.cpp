#include <string>

#include "judge/answer/serve.hpp"

namespace abh::mine {
Mask look_ahead_mask(Index n_queries, Index n_keys);
}

namespace {

using namespace abh;

/// What happens if there are too many queries.
std::string refusal(Index n_queries, Index n_keys) {
    try {
        mine::look_ahead_mask(n_queries, n_keys);
    } catch (const std::invalid_argument& error) {
        const std::string text = error.what();
        const bool both = text.find(std::to_string(n_queries)) != std::string::npos &&
                          text.find(std::to_string(n_keys)) != std::string::npos;
        return both ? "std::invalid_argument with both numbers"
                    : "std::invalid_argument whose message lacks a number: " + text;
    }
    return "nothing is thrown";
}

}  // namespace

int main() {
    return judge::serve({{"look_ahead_mask", judge::function(mine::look_ahead_mask)},
                         {"refusal", judge::function(refusal)}});
}
