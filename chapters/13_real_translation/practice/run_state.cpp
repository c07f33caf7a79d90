#include "chapters/13_real_translation/practice/run_state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <regex>

#include "lib/io/files.hpp"
#include "lib/io/text.hpp"

namespace abh {
// [progress as json]
using nlohmann::json;
namespace fs = std::filesystem;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EpochReport, epoch, steps, loss, dev_loss, bleu, seconds,
                                   tokens_per_second)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunProgress, epoch, batch, step, random_step, loss_sum,
                                   target_words, tokens, epoch_seconds, seconds, epochs)

namespace {

/// The progress that a state has as JSON. Refuses numbers that no run writes.
RunProgress progress_in(const TensorFile& state) {
    const std::string text = note(state, "progress");
    const json object = strict_json(text, {.depth = 4});
    constexpr std::int64_t most = std::int64_t{1} << 50;  // so that sums of a few do not overflow
    for (const json& value : object.flatten())
        require(value.is_null() || value.is_number_float() || (value >= 0 && value <= most),
                "progress: {} is not a number that a run writes", value.dump());
    try {
        const RunProgress progress = object;
        if (json(progress).dump() == text) return progress;
    } catch (const json::exception&) {
    }
    throw std::invalid_argument("progress: not in the form in which a run writes it");
}

}  // namespace
// [state]
TensorFile state_of(TrainingRun& run, const std::string& origin, const Notes& notes) {
    TensorFile file = weights_of(run.model(), notes);
    file.metadata["origin"] = origin;
    file.metadata["progress"] = json(run.progress()).dump();
    for (const NamedTensor& t : run.trainer().memory())
        file.tensors["optimizer." + t.name] = t.tensor;
    return file;
}
// [difference]
std::optional<Difference> first_difference(const std::string& now, const std::string& before) {
    const json one = strict_json(now, {.depth = 4}).flatten(),
               other = strict_json(before, {.depth = 4}).flatten();
    const auto value = [](const json& values, const std::string& name) {
        return values.contains(name) ? values[name].dump() : "missing";
    };
    for (const json& both : {one, other})
        for (const auto& [name, ignored] : both.items())
            if (value(one, name) != value(other, name))
                return Difference{name.substr(1), value(one, name), value(other, name)};
    return {};
}
// [go on]
void go_on_from(const TensorFile& state, TrainingRun& run, const std::string& origin) {
    if (const auto other = first_difference(origin, note(state, "origin")))
        require(false, "{} is {}, and was {} when the run began; restore it, or leave out --resume",
                other->name, other->now, other->before);
    std::vector<Tensor> memory;
    for (const NamedTensor& t : run.trainer().memory())
        memory.push_back(state.at("optimizer." + t.name, t.tensor.shape()));
    require_weights(state, run.model());
    run.go_on(progress_in(state), memory);  // the last step that may throw
    take_weights(state, run.model());
}
// [folder]
RunFolder::RunFolder(fs::path folder, bool writes) : folder_(std::move(folder)), writes_(writes) {
    if (!writes) return;
    std::error_code error;
    fs::create_directories(folder_, error);
    lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {  // the lock ends with the process
        if (!error) error.assign(errno, std::generic_category());
        ::close(lock_);
        throw std::runtime_error(
            error == std::errc::operation_would_block
                ? fmt::format("{}: another program trains there; choose another folder with --save",
                              folder_.string())
                : fmt::format("cannot use {}: {}", folder_.string(), error.message()));
    }
    const std::regex half_written(R"(.*\.safetensors\.part.*|test\..*\.txt\.part.*)");
    for (const auto& entry : fs::directory_iterator(folder_))  // left by a program that was killed
        if (std::regex_match(entry.path().filename().string(), half_written))
            fs::remove(entry.path(), error);
}

RunFolder::~RunFolder() {
    if (writes_) ::close(lock_);
}

fs::path RunFolder::epoch_file(Index epoch) const {
    return folder_ / fmt::format("epoch-{:04d}.safetensors", epoch);
}

fs::path default_run_folder(std::uint64_t seed, const std::string& name) {
    return default_checkpoint(name, seed).replace_extension();
}
// [folder: set aside]
std::vector<fs::path> RunFolder::epoch_files() const {
    const std::regex name(R"(epoch-\d+\.safetensors)");
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_))
        if (std::regex_match(entry.path().filename().string(), name)) files.push_back(entry.path());
    return files;
}

bool RunFolder::set_aside() const {
    if (!writes_) return false;
    std::vector<fs::path> files = epoch_files();
    for (const fs::path& file : {state_file(), model_file()})
        if (fs::exists(file)) files.push_back(file);
    if (files.empty()) return false;
    const fs::path previous = folder_ / "previous";
    fs::remove_all(previous);
    fs::create_directory(previous);
    for (const fs::path& file : files) fs::rename(file, previous / file.filename());
    return true;
}
// [folder: files]
TensorFile RunFolder::state() const {
    if (!fs::exists(state_file()))
        throw std::runtime_error(fmt::format(
            "{}: no state of a run is there to go on from; leave out --resume to begin a run",
            folder_.string()));
    return load_safetensors(state_file());
}

void RunFolder::save(const fs::path& file, const TensorFile& content) const {
    if (writes_) save_safetensors(file, content);
}

void RunFolder::keep_epochs(const std::set<Index>& kept) const {
    if (!writes_) return;
    std::error_code ignored;
    for (const fs::path& file : epoch_files())
        if (std::ranges::none_of(kept, [&](Index e) { return file == epoch_file(e); }))
            fs::remove(file, ignored);
}

fs::path RunFolder::text_file(const std::string& name) const {
    return folder_ / fmt::format("test.{}.txt", name);
}

void RunFolder::save_texts(const std::string& name, const std::vector<std::string>& texts) const {
    if (!writes_) return;
    AtomicFile file(text_file(name));
    for (const std::string& text : texts) file.write(text + '\n');
    file.commit();
}

void RunFolder::try_results() const {
    if (!writes_) return;
    const AtomicFile model(model_file());
    for (const char* name : {"source", "reference", "translation"})
        const AtomicFile probe(text_file(name));  // nothing is committed, so nothing is left
}
// [weights]
TensorFile weights_of(Transformer& model, const Notes& notes) {
    TensorFile file{{}, notes};
    put_weights(file, model);
    return file;
}

TensorFile load_weights(const fs::path& path, Transformer& model) {
    TensorFile file = load_safetensors(path);
    try {
        require_weights(file, model);
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(fmt::format("{}: {}", path.string(), error.what()));
    }
    return file;
}
// [average]
void average_weights(const std::vector<fs::path>& files, Transformer& model) {
    require(!files.empty(), "a mean of weights: there is no file of an epoch");
    const Parameters parameters = parameters_of(model);
    for (const NamedParameter& p : parameters) p.parameter->value.fill(0);
    for (const fs::path& path : files) {
        const TensorFile file = load_weights(path, model);
        for (const NamedParameter& p : parameters) p.parameter->value += file.tensors.at(p.name);
    }
    for (const NamedParameter& p : parameters)
        p.parameter->value *= 1 / static_cast<Real>(files.size());
}

}  // namespace abh
