#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/run.hpp"

using namespace abh;

namespace {

bool same(const TensorFile& a, const TensorFile& b) {
    const auto equal = [](const auto& x, const auto& y) {
        return x.first == y.first && max_difference(x.second, y.second) == 0;
    };
    return a.metadata == b.metadata && std::ranges::equal(a.tensors, b.tensors, equal);
}

/// Goes on as a program does. After a step that is not refused, and an epoch's end, the run can be
/// saved and read again.
void go_on(fuzz::Run& run) {
    const bool going_on = fuzz::accepted([&] {
        if (!run.run.epoch_over()) run.run.step();
        if (run.run.epoch_over()) run.run.end_epoch({.loss = 1, .score = 2.5, .translations = {}});
        run.run.over();
    });
    fuzz::Run other;
    if (going_on) go_on_from(run.state(), other.run, fuzz::Run::origin);
}

}  // namespace

/// The state of a folder, and what `--resume` makes of it.
void fuzz::meet(std::string_view bytes) {
    static const RunFolder kept(fuzz::folder.path());
    const auto file = fuzz::folder.put("state.safetensors", fuzz::tensor_file(bytes));
    TensorFile state;
    if (!fuzz::accepted([&] { state = kept.state(); })) return;
    fuzz::accepted([&] { load_text_model(file); });
    fuzz::Run run;
    const TensorFile before = run.state();
    if (fuzz::accepted([&] { go_on_from(state, run.run, fuzz::Run::origin); }))
        go_on(run);
    else
        fuzz::expect(same(run.state(), before), "a state that is refused leaves its traces");
}
