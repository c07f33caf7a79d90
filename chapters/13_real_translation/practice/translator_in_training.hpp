#pragma once

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chapters/13_real_translation/practice/run_state.hpp"
#include "chapters/13_real_translation/practice/text_model.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [options]
/// What `./book run 13` trains, on which text, and where it keeps the result.
struct TrainOptions {
    std::string train, dev, test;  ///< as for `PairFiles::parse`; no `train`: Tatoeba's sentences
    std::filesystem::path folder;  ///< if empty: `NAME-seedN` among the checkpoints
    bool quick = false, resume = false;
    double save_minutes = 5;           ///< between two states
    Index average = 4;                 ///< how many of the last epochs' weights are averaged
    std::string tokenization = "13a";  ///< of BLEU
    Index pieces = 6000;               ///< the most of each vocabulary
    bool shared = false;               ///< one vocabulary for both languages
    Index d_model = 256, d_ff = 512, n_heads = 4, n_layers = 3;
    Real dropout = Real(0.2);
    RunOptions run;
};
// [data]
/// Pairs to train on, to choose by and to report on, as ids.
struct TranslationData {
    std::vector<IdPair> train;
    HeldOut dev, test;
    Index too_long = 0;  ///< training pairs left out because the model has too few positions
};
// [progress]
/// "1:02:03", "2:03".
std::string clock_text(double seconds);
// [translator]
/// A translator in training, with everything that its run reads, writes and says.
struct TranslatorInTraining {
    const TrainOptions& options;
    const Team& team;  ///< its first process writes
    const RunFolder& folder;
    Results& results;
    std::string begun_with;  ///< the origin in `state_of`
    std::pair<Subwords, Subwords> subwords;
    TranslationData data;
    Transformer model;

    Symbols symbols = subwords.second.symbols();
    Notes notes = model_notes(model.options(), subwords.first, subwords.second);
    TrainingRun run{model, data.train, symbols, options.run, team};
    /// The loss of a model that knows only the words' frequencies.
    double known_loss = frequency_loss(data.train, model.options().tgt_words, symbols,
                                       static_cast<double>(options.run.training.smoothing));
    TextScoring scoring = scored_as_text();
    Index dev = static_cast<Index>(data.dev.ids.size());
    std::set<Index> kept = {};  ///< the epochs whose weights the run will need at its end
    std::vector<Index> samples{dev / 4, 2 * dev / 4, 3 * dev / 4};  ///< the pairs that are shown

    /// Prints the sizes of model and training, and the sentences whose translations are shown.
    void describe();
    /// Goes on from this state.
    /// @throws std::invalid_argument as `go_on_from` does; std::runtime_error naming a file of
    ///         weights that the run will need, but that is missing or damaged
    void go_on(const TensorFile& state);
    /// Writes the state of the run.
    void save();
    /// Trains until the run is over, and saves what each epoch gave.
    void train();
    /// Keeps the best epoch's weights, or the mean of the last epochs' weights.
    void choose();
    /// Reports on the test pairs, by which nothing was chosen.
    void report();

    /// BLEU of what the target's subwords make of ids.
    TextScoring scored_as_text() const;
    Validation validated(const HeldOut& pairs) const {
        return validate(model, pairs, symbols, scoring, team);
    }
    /// The last epochs, whose weights are averaged.
    std::set<Index> last_epochs() const {
        std::set<Index> epochs;
        const Index last = run.progress().epochs.back().epoch;
        for (Index e = std::max<Index>(1, last - options.average + 1); e <= last; ++e)
            epochs.insert(e);
        return epochs;
    }
};

}  // namespace abh
