#include <csignal>
#include <iostream>
#include <memory>

#include "chapters/13_real_translation/commands.hpp"
#include "chapters/13_real_translation/marian/marian.hpp"
#include "lib/io/text.hpp"
#include "lib/io/unicode.hpp"
#include "lib/precision.hpp"

namespace abh {
// [translator]
LineTranslator translator_of(TextModel model) {
    const Symbols symbols = model.target.symbols();
    const auto source = std::make_shared<Subwords>(std::move(model.source));
    const auto target = std::make_shared<Subwords>(std::move(model.target));
    return {
        .model = std::move(model.model),
        .encode = [source](const std::string& text) { return source->encode(tidy(text)); },
        .decode = [target](std::span<const std::int32_t> ids) { return tidy(target->decode(ids)); },
        .search = {.start = symbols.start,
                   .end = symbols.end,
                   .never = {symbols.pad, symbols.start}}};
}

namespace {

/// The translator in a file or folder that `train` wrote, or in the folder of a model of Marian.
LineTranslator load_translator(const std::filesystem::path& path) {
    namespace fs = std::filesystem;
    if (!fs::is_directory(path)) return translator_of(load_text_model(path));
    if (fs::exists(path / "config.json")) return marian_translator(path);
    const fs::path kept = path / RunFolder::model_name;  // Marian's weights have this name, too
    if (fs::exists(kept) && !fs::exists(path / "vocab.json"))
        return translator_of(load_text_model(kept));
    throw std::runtime_error(
        fmt::format("{}: no config.json, which a model of Marian has, and no {}, which a training "
                    "writes at its end",
                    path.string(), RunFolder::model_name));
}
// [options]
const std::map<std::string, Stopping> stops{
    {"full", Stopping::full}, {"usual", Stopping::usual}, {"proven", Stopping::proven}};

}  // namespace

TranslateCommand::TranslateCommand(Options& parent)
    : command_(parent.command("translate", "translate lines of standard input")) {
    options_.beam.max_more = 50;
    command_.add("--model", model_,
                 "folder or file that `train` wrote, or the folder of a model of Marian "
                 "(default: the model of ./book run 13)");
    command_.add("--beam", options_.beam.beam, "prefixes kept for each sentence").range(1, 1000);
    command_.add("--batch", options_.batch, "sentences translated at a time").range(1, 10000);
    command_.add("--n-best", n_best_, "so many per line, as `n ||| text ||| score`; 0: one, bare")
        .range(0, 1000);
    command_
        .add("--length-penalty", options_.beam.length_penalty, "alpha: sums are divided by n^alpha")
        .range(0.0, 100.0);
    command_.add("--stop", stop_, "rule that ends a search: full, usual or proven")
        .one_of({"full", "proven", "usual"});
    command_.add("--max-words", options_.beam.max_words, "most pieces in a translation")
        .range(1, 100000);
    command_.add("--bits", bits_, "of the operands of products: 32, 16 (bf16) or 8")
        .one_of({"32", "16", "8"});
    command_.add("--max-more", options_.beam.max_more, "most pieces more than the source has")
        .range(0, 100000);
}
// [default]
LineTranslator default_translator(std::uint64_t seed) {
    const std::filesystem::path file = default_run_folder(seed) / RunFolder::model_name;
    require(std::filesystem::exists(file),
            "{} is missing, which a training writes at its end: ./book run 13 --quick{}; or name "
            "another model with --model",
            file.string(), seed == 1 ? "" : fmt::format(" --seed {}", seed));
    TextModel model = load_text_model(file);
    fmt::print(stderr, "{}: {}\n", printable(file.string()),
               model.made.empty() ? "it does not say how it was made" : printable(model.made));
    return translator_of(std::move(model));
}
// [run]
/// Takes from the model's files what no option says.
void TranslateCommand::fill_in(const BeamOptions& theirs) {
    BeamOptions& ours = options_.beam;
    if (!command_.given("--beam")) ours.beam = theirs.beam;
    if (!command_.given("--length-penalty")) ours.length_penalty = theirs.length_penalty;
    if (!command_.given("--max-words")) ours.max_words = theirs.max_words;
    ours.stopping = command_.given("--stop") ? stops.at(stop_) : theirs.stopping;
}

void TranslateCommand::run(Results& results, std::uint64_t seed) {
    std::ios::sync_with_stdio(false);  // so that std::cin knows what has come already
    std::signal(SIGPIPE, SIG_DFL);     // a closed output ends this program quietly
    const LineTranslator translator =
        model_.empty() ? default_translator(seed) : load_translator(model_);
    fill_in(translator.search);
    if (bits_ == "8") set_precision(Precision::int8);
    if (bits_ == "16")
        if (const std::string said = choose_precision("bf16"); !said.empty())
            fmt::print(stderr, "{}\n", said);
    require(n_best_ <= options_.beam.beam, "--n-best {} is more than --beam {} keeps", n_best_,
            options_.beam.beam);
    options_.n_best_list = n_best_ > 0;
    options_.beam.n_best = std::max<Index>(n_best_, 1);
    const Index lines = translate_lines(translator, std::cin, stdout, stderr, options_);
    results.set("lines", lines);
}

}  // namespace abh
