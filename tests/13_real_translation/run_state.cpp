// Once: what a run of training leaves behind, so that nothing is lost.
#include "chapters/13_real_translation/practice/run_state.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "chapters/13_real_translation/practice/text_model.hpp"
#include "lib/io/files.hpp"
#include "tests/13_real_translation/pairs.hpp"
#include "tests/ways.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

const std::string origin = R"({"training": {"rate": 0.5, "seed": 3}, "data": "5 pairs"})";
const RunOptions some_options{
    .training = {.optimizer = "adam", .warmup = 5}, .tokens = 60, .accumulate = 2};

/// A model in training on drawn pairs, with dropout.
struct Run {
    std::vector<IdPair> pairs = drawn_pairs(40, 21);
    Transformer model{tiny_model(Real(0.1)), Random(1)};
    TrainingRun run{model, pairs, {}, some_options};  // knows where the other two are

    Run() = default;
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    void steps(Index n) {
        for (Index i = 0; i < n; ++i) {
            if (run.epoch_over()) run.end_epoch({.loss = 1, .score = 2.5, .translations = {}});
            run.step();
        }
    }
};

/// Weights, the optimizer's tensors and the numbers of the progress, times aside.
bool same_state(Run& a, Run& b) {
    TensorFile x = state_of(a.run, origin, {}), y = state_of(b.run, origin, {});
    bool same = x.metadata == y.metadata && x.tensors.size() == y.tensors.size();
    for (const auto& [name, tensor] : x.tensors)
        same = same && same_bits(tensor, y.tensors.at(name));
    return same;
}

/// Changes a field of a state's progress.
void set_progress(TensorFile& state, const std::string& field, const std::string& value) {
    auto fields = nlohmann::json::parse(state.metadata.at("progress"));
    REQUIRE(fields.contains(field));
    fields[field] = nlohmann::json::parse(value);
    state.metadata["progress"] = fields.dump();
}

}  // namespace

TEST_CASE("a run that goes on from a state makes the steps of one that was never interrupted") {
    const Folder folder;
    const Index all = emulated() ? 8 : 30;  // more than an epoch
    Run straight;
    straight.steps(all);
    REQUIRE(straight.run.progress().epoch > 1);
    for (const Index cut : {1, 6, 7, 13, 29}) {
        if (cut >= all) continue;
        Run before, after;
        before.steps(cut);
        save_safetensors(folder / "state", state_of(before.run, origin, {}));
        go_on_from(load_safetensors(folder / "state"), after.run, origin);
        CHECK(same_state(before, after));
        after.steps(all - cut);
        CAPTURE(cut);
        CHECK(same_state(straight, after));
    }
}

TEST_CASE("a state holds everything that the next step depends on", "[fast]") {
    Run reference;
    reference.steps(6);
    const auto ends_alike = [&](auto change) {  // after three steps from a changed state
        Run start, run;
        start.steps(3);
        TensorFile state = state_of(start.run, origin, {});
        for (auto& [name, tensor] : state.tensors) tensor = tensor.clone();
        change(state);
        go_on_from(state, run.run, origin);
        run.steps(3);
        return same_state(run, reference);
    };
    CHECK(ends_alike([](TensorFile&) {}));
    CHECK(!ends_alike([](TensorFile& s) { s.tensors.at("optimizer.mean.output.weight").fill(0); }));
    CHECK(
        !ends_alike([](TensorFile& s) { s.tensors.at("optimizer.square.output.weight").fill(1); }));
    for (const auto& [field, value] :
         {std::pair{"random_step", "2"}, {"batch", "4"}, {"epoch", "2"}, {"step", "2"}}) {
        CAPTURE(field);
        const auto changed = [name = field, to = value](TensorFile& s) {
            set_progress(s, name, to);
        };
        CHECK(!ends_alike(changed));
    }
}

TEST_CASE("a run goes on only with what it was begun with, and says what differs") {
    Run run, other;
    run.steps(2);
    const TensorFile state = state_of(run.run, origin, {});
    const auto goes_on = [&](const std::string& with) { go_on_from(state, other.run, with); };
    CHECK_THROWS_WITH(goes_on(R"({"training": {"rate": 0.25, "seed": 3}, "data": "5 pairs"})"),
                      Contains("training/rate is 0.25, and was 0.5 when the run began"));
    CHECK_THROWS_WITH(goes_on(R"({"training": {"rate": 0.5}, "data": "5 pairs"})"),
                      Contains("training/seed is missing, and was 3"));
    CHECK_THROWS_WITH(
        goes_on(R"({"training": {"rate": 0.5, "seed": 3, "new": 1}, "data": "5 pairs"})"),
        Contains("training/new is 1, and was missing"));
    CHECK_THROWS_WITH(goes_on(R"({"training": {"rate": 0.5, "seed": 3}, "data": "6 pairs"})"),
                      Contains("data is \"6 pairs\", and was \"5 pairs\""));
    Run untouched;
    CHECK(same_state(other, untouched));
    goes_on(R"({"data": "5 pairs", "training": {"seed": 3, "rate": 0.5}})");
    CHECK(same_state(other, run));
}

TEST_CASE("a state that lacks something, or has another model's, leaves the run as it was") {
    Run run, other, untouched;
    run.steps(2);
    const auto without = [&](auto change) {
        TensorFile state = state_of(run.run, origin, {});
        change(state);
        go_on_from(state, other.run, origin);
    };
    CHECK_THROWS_WITH(without([](TensorFile& s) { s.tensors.erase("output.weight"); }),
                      Contains("output.weight is missing"));
    CHECK_THROWS_WITH(without([](TensorFile& s) {
                          s.tensors["optimizer.mean.output.weight"] = Tensor({2, 2});
                      }),
                      Contains("has shape [2, 2], expected [12, 8]"));
    CHECK_THROWS_WITH(without([](TensorFile& s) { s.metadata.erase("progress"); }),
                      Contains("no progress in its notes"));
    CHECK(same_state(other, untouched));
    other.steps(2);
    CHECK(same_state(other, run));
}

TEST_CASE("notes of a state that say what cannot be are refused", "[fast]") {
    Run run, other, untouched;
    run.steps(3);
    const auto with = [&](const auto& change) {
        TensorFile state = state_of(run.run, origin, {});
        change(state);
        go_on_from(state, other.run, origin);
    };
    const auto altered = [&](const char* field, const char* value) {
        with([&](TensorFile& s) { set_progress(s, field, value); });
    };
    for (const char* field : {"batch", "epoch", "random_step", "step", "tokens"})
        for (const char* value : {"-1", "2.5", "1e300", "18446744073709551615", "true", "null"})
            CHECK_THROWS_WITH(altered(field, value), Contains("progress: "));
    for (const char* value : {"null", "[0.5]", "\"nan\""})
        CHECK_THROWS_WITH(altered("seconds", value), Contains("progress: "));
    for (const char* value : {"3", "[3]", "[{}]"})
        CHECK_THROWS_WITH(altered("epochs", value), Contains("progress: "));
    CHECK_THROWS_WITH(altered("target_words", "0"), Contains("with 0 words"));
    CHECK_THROWS_WITH(altered("batch", "999"), Contains("batch 999 of an epoch of"));
    for (const char* note : {"origin", "progress"})
        for (const char* text : {"{", "3", "{}"})
            CHECK_THROWS(with([&](TensorFile& s) { s.metadata.at(note) = text; }));
    CHECK(same_state(other, untouched));
}

TEST_CASE("a model's file gives back model and pieces") {
    const Folder folder;
    const fs::path file = folder / "model.safetensors";
    const std::vector<std::string> sentences{"I have a good friend .", "I have no friend ."};
    const Subwords words = Subwords::train(sentences, 30, false);
    TransformerOptions options = tiny_model(0);
    options.src_words = options.tgt_words = words.size();
    Transformer model(options, Random(1));
    save_safetensors(file, weights_of(model, model_notes(options, words, words)));
    TextModel back = load_text_model(file);
    CHECK(back.target.model() == words.model());
    const Parameters p = parameters_of(model), q = parameters_of(back.model);
    for (std::size_t i = 0; i < p.size(); ++i)
        CHECK(same_bits(p[i].parameter->value, q[i].parameter->value));
}

TEST_CASE("a folder keeps the state that was saved last, and the epochs that it is told") {
    const Folder folder;
    Run run;
    const RunFolder kept(folder / "run");
    CHECK_THROWS_WITH(kept.state(), Contains("no state of a run"));
    for (Index i = 0; i < 4; ++i) {
        run.steps(1);
        kept.save(kept.state_file(), state_of(run.run, origin, {}));
        kept.save(kept.epoch_file(i + 1), weights_of(run.model, {}));
    }
    kept.keep_epochs({2, 4});
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder / "run"))
        names.insert(entry.path().filename().string());
    CHECK(names == std::set<std::string>{"epoch-0002.safetensors", "epoch-0004.safetensors",
                                         "state.safetensors"});
    Run other;
    go_on_from(kept.state(), other.run, origin);
    CHECK(same_state(run, other));
}

TEST_CASE("a folder belongs to one program, is made if need be, and loses what a kill left") {
    const Folder folder;
    const fs::path place = folder / "a" / "b";
    {
        const RunFolder first(place);
        CHECK_THROWS_WITH(RunFolder(place),
                          Contains(place.string()) && Contains("another program"));
        put(place / "state.safetensors.part4711", "half");
        put(place / "test.reference.txt.part4711", "half");
    }
    const RunFolder second(place);
    CHECK(!fs::exists(place / "state.safetensors.part4711"));
    CHECK(!fs::exists(place / "test.reference.txt.part4711"));
    const fs::path file = folder.put("file", "");
    CHECK_THROWS_WITH(RunFolder(file), Contains("cannot use") && Contains("file"));
}

TEST_CASE("a new run sets another one aside, and nothing else that lies there") {
    const Folder folder;
    Run run;
    RunFolder kept(folder / "run");
    CHECK(!kept.set_aside());
    for (const std::string word : {"first", "second"}) {
        kept.save(kept.state_file(), state_of(run.run, origin, {{"word", word}}));
        kept.save(kept.epoch_file(3), weights_of(run.model, {}));
        put(folder / "run" / "letter.txt", "dear reader");
        CHECK(kept.set_aside());
    }
    const fs::path previous = folder / "run" / "previous";
    CHECK(load_safetensors(previous / "state.safetensors").metadata.at("word") == "second");
    CHECK(fs::exists(previous / "epoch-0003.safetensors"));
    CHECK(read_file(folder / "run" / "letter.txt") == "dear reader");
    CHECK(!kept.set_aside());
}

TEST_CASE("averaged weights are the mean of those in the files") {
    const Folder folder;
    const RunFolder kept(folder / "run");
    Transformer a(tiny_model(0), Random(1)), b(tiny_model(0), Random(2)),
        c(tiny_model(0), Random(3));
    kept.save(kept.epoch_file(1), weights_of(a, {}));
    kept.save(kept.epoch_file(2), weights_of(b, {}));
    average_weights({kept.epoch_file(1), kept.epoch_file(2)}, c);
    const Parameters p = parameters_of(a), q = parameters_of(b), mean = parameters_of(c);
    for (std::size_t i = 0; i < p.size(); ++i) {
        Tensor expected = p[i].parameter->value + q[i].parameter->value;
        expected *= Real(0.5);
        CHECK(max_difference(mean[i].parameter->value, expected) < 1e-6);
    }
    average_weights({kept.epoch_file(2)}, c);
    for (std::size_t i = 0; i < p.size(); ++i)
        CHECK(same_bits(mean[i].parameter->value, q[i].parameter->value));
    Transformer larger(tiny_model(0, 12), Random(1));
    CHECK_THROWS_WITH(average_weights({kept.epoch_file(1)}, larger),
                      Contains("epoch-0001.safetensors") && Contains("shape"));
    CHECK_THROWS_WITH(average_weights({}, c), Contains("no file of an epoch"));
}

TEST_CASE("bytes become digits and come back, and other digits are refused") {
    std::string all;
    for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
    CHECK(from_hex(to_hex(all)) == all);
    CHECK(to_hex("\x7f\xff") == "7fff");
    CHECK(checksum("123456789") != checksum("123456798"));
    for (const char* digits : {"abc", "0g", "0A", "-1"})
        CHECK_THROWS_WITH(from_hex(digits), Contains("hexadecimal digits"));
}
