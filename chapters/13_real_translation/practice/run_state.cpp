#include "chapters/13_real_translation/practice/run_state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/practice/checked_file.hpp"
#include "chapters/13_real_translation/subwords/text_model.hpp"
#include "lib/fast/matmul.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/io/files.hpp"
#include "lib/io/strict_json.hpp"
#include "lib/way.hpp"

namespace abh {
// [progress as json]
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Calls `f(name, field)` for every number of a report, or of a run's progress: one list for
/// writing and for reading.
template <class Report, class F>
void each_number(Report& r,
                 const F& f) requires std::is_same_v<std::remove_const_t<Report>, EpochReport> {
    f("epoch", r.epoch);
    f("steps", r.steps);
    f("loss", r.loss);
    f("dev_loss", r.dev_loss);
    f("bleu", r.bleu);
    f("gradient_norm", r.gradient_norm);
    f("seconds", r.seconds);
    f("tokens_per_second", r.tokens_per_second);
}

template <class Progress, class F>
void each_number(Progress& p,
                 const F& f) requires std::is_same_v<std::remove_const_t<Progress>, RunProgress> {
    f("epoch", p.epoch);
    f("batch", p.batch);
    f("step", p.step);
    f("random_step", p.random_step);
    f("loss_sum", p.loss_sum);
    f("norm_sum", p.norm_sum);
    f("target_words", p.target_words);
    f("tokens", p.tokens);
    f("epoch_steps", p.epoch_steps);
    f("epoch_seconds", p.epoch_seconds);
    f("seconds", p.seconds);
}

template <class T>
json written(const T& numbers) {
    json object;
    each_number(numbers, [&](const char* name, const auto& field) { object[name] = field; });
    return object;
}

/// The JSON object in a note.
/// @throws std::invalid_argument naming the note if there is none
json object_in(const char* note, const std::string& text) {
    json object;
    try {
        object = strict_json(text, {.depth = 4});
    } catch (const std::invalid_argument& error) {
        require(false, "{}: {}", note, error.what());
    }
    require(!object.empty(), "{}: no field", note);
    return object;
}

template <class T>
T read(const json& object) {
    constexpr std::uint64_t most = std::uint64_t{1} << 50;  // so that sums of some do not overflow
    T numbers;
    each_number(numbers, [&](const char* name, auto& field) {
        using Number = std::decay_t<decltype(field)>;
        const json value = object.value(name, json());
        if constexpr (std::is_integral_v<Number>)
            require(value.is_number_unsigned() && value.get<std::uint64_t>() <= most,
                    "progress: {} is not a whole number from 0 to 2^50", name);
        else
            require(value.is_number(), "progress: {} is not a number", name);
        field = value.get<Number>();
    });
    return numbers;
}

RunProgress progress_from(const std::string& text) {
    const json object = object_in("progress", text);
    auto progress = read<RunProgress>(object);
    const json epochs = object.value("epochs", json());
    require(epochs.is_array(), "progress: no list of epochs");
    for (const json& epoch : epochs) {
        require(epoch.is_object(), "progress: an epoch is not an object");
        progress.epochs.push_back(read<EpochReport>(epoch));
    }
    return progress;
}

std::string to_text(const RunProgress& progress) {
    json object = written(progress);
    object["epochs"] = json::array();
    for (const EpochReport& epoch : progress.epochs) object["epochs"].push_back(written(epoch));
    return object.dump();
}

}  // namespace
// [state]
TensorFile state_of(Practice& run, const std::string& origin, const Notes& notes) {
    TensorFile file{{}, notes};
    file.metadata["origin"] = origin;
    file.metadata["progress"] = to_text(run.progress());
    file.metadata["threads"] = std::to_string(threads());
    put_weights(file, run.model());
    for (const NamedTensor& t : run.steps().memory())
        file.tensors["optimizer." + t.name] = t.tensor;
    return file;
}
// [difference]
std::optional<Difference> first_difference(const std::string& now, const std::string& before) {
    const json one = object_in("origin", now).flatten(),
               other = object_in("origin", before).flatten();
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
namespace {

/// @throws std::invalid_argument if there is none
const std::string& note(const TensorFile& state, const char* name) {
    const auto found = state.metadata.find(name);
    require(found != state.metadata.end(), "no {} in its notes: no state of a run", name);
    return found->second;
}

}  // namespace

Index step_of(const TensorFile& state) {
    return progress_from(note(state, "progress")).step;
}

std::string explain_threads(const TensorFile& state) {
    if (way() != Way::fast || !products_by_library()) return "";  // the same bits in any case
    const auto before = state.metadata.find("threads");
    const std::string now = std::to_string(threads());
    if (before == state.metadata.end() || before->second == now) return "";
    return fmt::format(
        "this run had {} thread{} so far; with {} its numbers may differ in the last bits",
        printable(before->second, 20), before->second == "1" ? "" : "s", now);
}

void go_on_from(const TensorFile& state, Practice& run, const std::string& origin) {
    if (const auto other = first_difference(origin, note(state, "origin")))
        require(false,
                "{} is {}, and was {} when the run began; the same goes on, something else begins "
                "anew without --resume",
                other->name, other->now, other->before);
    const RunProgress progress = progress_from(note(state, "progress"));
    std::vector<Tensor> memory;
    for (const NamedTensor& t : run.steps().memory())
        memory.push_back(state.at("optimizer." + t.name, t.tensor.shape()));
    for (const NamedParameter& p : parameters_of(run.model()))
        state.at(p.name, p.parameter->value.shape());
    run.go_on(progress);  // the last that may throw
    take_weights(state, run.model());
    run.steps().remember(memory);
}
// [folder]
namespace {

[[noreturn]] void fail(const fs::path& path, int error) {
    throw std::runtime_error(
        fmt::format("cannot use {}: {}", path.string(), std::generic_category().message(error)));
}

/// The number in a name such as state-00001200.safetensors; negative if it is another name.
Index number_in(const fs::path& path, const std::string& kind) {
    const std::string name = path.filename().string(), end = ".safetensors";
    if (!name.starts_with(kind + "-") || !name.ends_with(end)) return -1;
    const char* const first = std::data(name) + kind.size() + 1;
    const char* const last = std::data(name) + name.size() - end.size();
    Index number = -1;
    const auto [stop, error] = std::from_chars(first, last, number);
    return error == std::errc() && stop == last ? number : -1;
}

/// Whether a program that was killed left this: a state, weights or a text that it was writing.
bool is_half_written(const fs::path& path) {
    const std::string name = path.filename().string();
    return name.find(".safetensors.part") != std::string::npos ||
           (name.starts_with("test.") && name.find(".txt.part") != std::string::npos);
}

/// Files with such names, the highest number first.
std::vector<fs::path> numbered(const fs::path& folder, const std::string& kind) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder))
        if (number_in(entry.path(), kind) >= 0) files.push_back(entry.path());
    std::sort(files.begin(), files.end(), [&](const fs::path& a, const fs::path& b) {
        return number_in(a, kind) > number_in(b, kind);
    });
    return files;
}

}  // namespace

RunFolder::RunFolder(fs::path folder, bool writes) : folder_(std::move(folder)), writes_(writes) {
    if (!writes) return;
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) fail(folder_, error.value());
    lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0) fail(folder_, errno);
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {  // gone with the process, however it ends
        const int reason = errno;
        ::close(lock_);
        if (reason != EWOULDBLOCK) fail(folder_, reason);
        throw std::runtime_error(fmt::format(
            "{}: another program trains there; --save names another folder", folder_.string()));
    }
    for (const auto& entry : fs::directory_iterator(folder_))  // of a program that was killed
        if (is_half_written(entry.path())) fs::remove(entry.path(), error);
}

RunFolder::~RunFolder() {
    if (writes_) ::close(lock_);
}
// [folder: set aside]
bool RunFolder::set_aside() {
    if (!writes_) return false;
    std::vector<fs::path> files = numbered(folder_, "state");
    for (const fs::path& file : numbered(folder_, "epoch")) files.push_back(file);
    if (fs::exists(model_file())) files.push_back(model_file());
    if (files.empty()) return false;
    const fs::path previous = folder_ / "previous";
    fs::remove_all(previous);
    fs::create_directory(previous);
    for (const fs::path& file : files) fs::rename(file, previous / file.filename());
    return true;
}
// [folder: states]
TensorFile RunFolder::newest_state(std::vector<std::string>& damaged) const {
    const std::vector<fs::path> files = numbered(folder_, "state");
    if (files.empty())
        throw std::runtime_error(
            fmt::format("{}: no state of a run is there to go on from; without --resume one begins",
                        folder_.string()));
    std::vector<fs::path> bad;
    for (const fs::path& file : files) try {
            TensorFile state = load_checked(file);
            for (const fs::path& newer : bad) fs::rename(newer, newer.string() + ".damaged");
            return state;
        } catch (const std::runtime_error& error) {
            damaged.push_back(error.what());
            bad.push_back(file);
        }
    throw std::runtime_error(damaged.front());
}

std::optional<fs::path> RunFolder::newest_state_file(const fs::path& folder) {
    const std::vector<fs::path> files = numbered(folder, "state");
    return files.empty() ? std::nullopt : std::optional(files.front());
}

fs::path RunFolder::state_file(Index step) const {
    return folder_ / fmt::format("state-{:08d}.safetensors", step);
}

void RunFolder::save_state(Index step, TensorFile state) const {
    if (!writes_) return;
    save_checked(state_file(step), std::move(state));
    const std::vector<fs::path> files = numbered(folder_, "state");
    std::error_code ignored;
    for (std::size_t i = 2; i < files.size(); ++i) fs::remove(files[i], ignored);
}
// [folder: epochs]
fs::path RunFolder::epoch_file(Index epoch) const {
    return folder_ / fmt::format("epoch-{:04d}.safetensors", epoch);
}

void RunFolder::save_texts(const std::string& name, const std::vector<std::string>& texts) const {
    if (!writes_) return;
    AtomicFile file(folder_ / fmt::format("test.{}.txt", name));
    for (const std::string& text : texts) file.write(text + '\n');
    file.commit();
}

void RunFolder::save_epoch(Index epoch, Transformer& model, const Notes& notes) const {
    save_weights(epoch_file(epoch), model, notes);
}

void RunFolder::save_model(Transformer& model, const Notes& notes) const {
    save_weights(model_file(), model, notes);
}

void RunFolder::save_weights(const fs::path& path, Transformer& model, const Notes& notes) const {
    if (!writes_) return;
    TensorFile file{{}, notes};
    put_weights(file, model);
    save_checked(path, std::move(file));
}

void RunFolder::keep_epochs(const std::vector<Index>& epochs) const {
    if (!writes_) return;
    std::error_code ignored;
    for (const fs::path& file : numbered(folder_, "epoch"))
        if (std::find(epochs.begin(), epochs.end(), number_in(file, "epoch")) == epochs.end())
            fs::remove(file, ignored);
}

fs::path default_run_folder(std::uint64_t seed, const std::string& name) {
    return default_checkpoint(name, seed).replace_extension();
}

fs::path default_model_file(std::uint64_t seed) {
    return default_run_folder(seed) / RunFolder::model_name;
}
// [average]
void average_weights(const std::vector<fs::path>& files, Transformer& model) {
    require(!files.empty(), "average: there is no file");
    const Parameters parameters = parameters_of(model);
    std::vector<Tensor> sums;
    for (const NamedParameter& p : parameters)
        sums.push_back(Tensor::zeros(p.parameter->value.shape()));
    for (const fs::path& path : files) {
        const TensorFile file = load_checked(path);
        for (std::size_t i = 0; i < sums.size(); ++i) try {
                sums[i] += file.at(parameters[i].name, sums[i].shape());
            } catch (const std::invalid_argument& error) {
                throw std::runtime_error(fmt::format("{}: {}", path.string(), error.what()));
            }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] *= 1 / static_cast<Real>(files.size());
        std::copy(sums[i].values().begin(), sums[i].values().end(),
                  parameters[i].parameter->value.values().begin());
    }
}

}  // namespace abh
