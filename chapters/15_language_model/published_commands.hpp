#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "chapters/15_language_model/continuation.hpp"
#include "chapters/15_language_model/published_model.hpp"
#include "chapters/15_language_model/sampling.hpp"
#include "lib/program/program.hpp"

namespace abh {
// [commands]
/// The commands of chapter 15's program that run a published model.
class PublishedCommands {
public:
    explicit PublishedCommands(Options& parent);

    /// Runs the chosen one of them. @return false if none is chosen
    bool run(Results& results, std::uint64_t seed);

private:
    Options continue_, chat_, perplexity_, published_, bits_;
    std::filesystem::path model_, text_;
    std::string prompt_, system_ = usual_system;
    SamplingOptions choice_{.temperature = 0};
    Index tokens_ = 100, window_ = 1024;
};
// [answers]
/// How fast pieces came, in pieces a second.
struct Pace {
    Index read = 0, said = 0;
    double reading = 0, saying = 0;  ///< seconds
};
/// Draws pieces until the model's last one comes, or `most` have come, or Ctrl-C.
/// @param pieces  what to read first; then what has been said is added
/// @param show    is called with what can be shown, as soon as it can
Pace say(const Published& model, Continuation& text, std::vector<std::int32_t>& pieces,
         const SamplingOptions& choice, const Stream& stream, Index most,
         const std::function<void(const std::string&)>& show);
/// What a model says at temperature 0 after these pieces.
std::string said(const Published& model, std::vector<std::int32_t> pieces, Index most, Pace& pace);
// [reports]
/// What a published model says to five questions, how it cuts texts, how well it predicts one.
void show_published(const Published& model, Results& results);
/// How fast and how good models are in 32, 16, 8 and 4 bits.
void show_bits(const Published& model, Results& results);

}  // namespace abh
