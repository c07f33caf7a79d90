#pragma once

#include <filesystem>
#include <string>

#include "chapters/13_real_translation/practice/text_model.hpp"
#include "chapters/13_real_translation/search/translate_lines.hpp"
#include "lib/program/options.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [translate]
/// A model that `train` wrote, as a translator of text.
LineTranslator translator_of(TextModel model);
/// The translator in a file or folder that `train` wrote, or in the folder of a model of Marian.
/// @throws std::runtime_error naming the file or folder and what is wrong with it
LineTranslator load_translator(const std::filesystem::path& path);

/// `./book run 13 translate`: translates lines of standard input to standard output.
class TranslateCommand {
public:
    explicit TranslateCommand(Options& parent);
    bool chosen() const { return command_.chosen(); }
    /// @param seed  of the run whose model is used if none is named
    void run(Results& results, std::uint64_t seed);

private:
    void fill_in(const BeamOptions& theirs);

    Options command_;
    std::filesystem::path model_;
    LineOptions options_;
    Index n_best_ = 0;
    std::string stop_ = "usual";
};

}  // namespace abh
