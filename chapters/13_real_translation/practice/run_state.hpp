#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "chapters/13_real_translation/practice/text_model.hpp"
#include "chapters/13_real_translation/practice/training_run.hpp"

namespace abh {
// [state]
/// Everything that a run needs to go on: weights, what the optimizer remembers, progress (which
/// gives the order of the batches and the random numbers), and `notes`.
/// @param origin  JSON that says what the run was begun with: model, options, data
TensorFile state_of(TrainingRun& run, const std::string& origin, const Notes& notes);
/// Puts a run that was just made into this state.
/// @throws std::invalid_argument naming the difference if the state's run was begun with something
///         else, or the tensor or note that is missing; weights and progress are then unchanged
void go_on_from(const TensorFile& state, TrainingRun& run, const std::string& origin);
// [difference]
/// Something that differs between two runs.
struct Difference {
    std::string name, now, before;  ///< a place in a JSON object, and its value now and before
};
/// The first difference of two JSON objects, if there is one.
std::optional<Difference> first_difference(const std::string& now, const std::string& before);
// [folder]
/// Where a run keeps its results and what it needs to go on:
///
///     state.safetensors         the run as it was last saved
///     epoch-0007.safetensors    the weights after an epoch; the last few and the best are kept
///     model.safetensors         the model that was chosen at the end
///     test.source.txt, ...      source, reference and translation of the test, line by line
///
/// Every file appears whole or not at all, so a run can go on even after its program was killed.
class RunFolder {
public:
    static constexpr const char* model_name = "model.safetensors";

    /// Makes the folder if necessary. Only one program at a time may use it.
    /// @param writes  false for the other processes of a team, which then never write
    /// @throws std::runtime_error naming the folder if that fails, or another program trains there
    explicit RunFolder(std::filesystem::path folder, bool writes = true);
    ~RunFolder();
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;

    /// The files that hold the state, the weights after an epoch, and the model.
    std::filesystem::path state_file() const { return folder_ / "state.safetensors"; }
    std::filesystem::path epoch_file(Index epoch) const;
    std::filesystem::path model_file() const { return folder_ / model_name; }

    /// Moves what another run left into the folder `previous`, whose content is removed first.
    /// @return whether there was anything
    bool set_aside() const;
    /// The state of the run.
    /// @throws std::runtime_error naming the folder if there is none, or the file if it is damaged
    TensorFile state() const;
    /// Writes one of these files. @throws std::runtime_error naming file and reason if that fails
    void save(const std::filesystem::path& file, const TensorFile& content) const;
    /// Removes the weights of all epochs but these.
    void keep_epochs(const std::set<Index>& kept) const;
    /// Writes `test.NAME.txt`, one text per line.
    void save_texts(const std::string& name, const std::vector<std::string>& texts) const;
    /// Checks before the work that the files of its results can be written.
    /// @throws std::runtime_error naming the file that cannot
    void try_results() const;

private:
    std::vector<std::filesystem::path> epoch_files() const;
    std::filesystem::path text_file(const std::string& name) const;

    std::filesystem::path folder_;
    bool writes_;
    int lock_ = -1;
};
constexpr const char* default_run_name = "translation";
/// Where a program keeps its run: `NAME-seedN` among the checkpoints.
std::filesystem::path default_run_folder(std::uint64_t seed,
                                         const std::string& name = default_run_name);
// [weights]
/// A model's weights, with notes, for a file.
TensorFile weights_of(Transformer& model, const Notes& notes);
/// Reads the weights of a model like this one.
/// @throws std::runtime_error naming the file if it cannot be read or holds another model
TensorFile load_weights(const std::filesystem::path& path, Transformer& model);
// [average]
/// Sets the weights to the mean of those in the files, of which there must be one.
/// @throws std::runtime_error naming a file that cannot be read or holds another model; the weights
///         are then lost
void average_weights(const std::vector<std::filesystem::path>& files, Transformer& model);

}  // namespace abh
