#include <algorithm>
#include <cmath>

#include "chapters/09_training/loop/train_with_output.hpp"
#include "chapters/09_training/model/checkpoint.hpp"
#include "chapters/10_greedy_decoding/claims.hpp"
#include "chapters/10_greedy_decoding/cost.hpp"
#include "chapters/10_greedy_decoding/greedy_translator.hpp"
#include "chapters/10_greedy_decoding/inside.hpp"
#include "lib/io/text.hpp"
#include "lib/io/unicode.hpp"
#include "lib/program/program.hpp"

using namespace abh;
// [checkpoint]
namespace {

/// The checkpoint that chapter 9 wrote for this task, trained as it is without further options. If
/// there is none, one is trained first.
std::filesystem::path find_checkpoint(const Task& task, std::uint64_t seed) {
    const std::filesystem::path file = default_checkpoint(full_name(task), seed);
    if (!std::filesystem::exists(file)) {
        fmt::print(
            "{} is missing, so it is trained first, as ./book run 09 does. (To translate with "
            "another one, name its file with --checkpoint.)\n",
            printable(file.string()));
        std::fflush(stdout);
        Results chapter_9;  // the results of training are not kept
        train_with_output(task, seed, file, chapter_9);
    }
    return file;
}

void show_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& file) {
    section("Checkpoint");
    fmt::print("{}\n{}\n", printable(file.string()),
               checkpoint.made.empty() ? "the file does not say how it was made"
                                       : printable(checkpoint.made));
}

/// Checks that the model in this file was trained with the words of this corpus.
void require_words(const Checkpoint& checkpoint, const Task& task,
                   const std::filesystem::path& file) {
    const auto fresh = [](const Vocabulary& now, const Vocabulary& then) {
        std::string words;
        for (const std::string& word : now.words())
            if (std::ranges::count(then.words(), word) == 0) words += " " + word;
        return words;
    };
    require(checkpoint.source.words() == task.corpus.source.words() &&
                checkpoint.target.words() == task.corpus.target.words(),
            "{}: its words are not those of the corpus {}{}; name another checkpoint, or remove "
            "this file, and it is trained again",
            file.string(), task.name, [&] {
                const std::string words = fresh(task.corpus.source, checkpoint.source) +
                                          fresh(task.corpus.target, checkpoint.target);
                return words.empty() ? words : ", which also has" + words;
            }());
}
// [sentences]
/// Shows the first sentences of training, then the first of those held out and some more.
void show_sentences(const GreedyTranslator& translator, const Corpus& corpus, Results& results) {
    section("Sentences of training");
    Index right = 0, shown = 0;
    for (const SentencePair& pair : corpus.train) {
        right += show(translator, pair, translator.translate(pair.source));
        if (++shown == 3) break;
    }
    fmt::print("{} of {} right\n", right, shown);
    results.set("train_shown", shown);
    results.set("train_right", right);

    if (corpus.held_out.empty()) return;
    section("Sentences that training never saw");
    const std::size_t apart = corpus.held_out.size() / 6 + 1;  // 31 for the grammar's 180
    for (std::size_t i = 0; i < corpus.held_out.size(); i += apart)
        show(translator, corpus.held_out[i], translator.translate(corpus.held_out[i].source));
}

void show_held_out(const GreedyTranslator& translator, const Corpus& corpus, Results& results) {
    if (corpus.held_out.empty()) return;
    section("All sentences held out");
    const std::vector<Translation> translations =
        translate_all(translator, corpus, corpus.held_out);
    Index right = 0;
    for (std::size_t i = 0; i < translations.size(); ++i)
        right += translator.words(translations[i]) == corpus.held_out[i].target;
    const auto all = static_cast<Index>(corpus.held_out.size());
    const double percent = 100.0 * static_cast<double>(right) / static_cast<double>(all);
    fmt::print("{} of {} exact, {:.1f} %\n", right, all, percent);
    results.set("held_out", all);
    results.set("held_out_right", right);
}
// [cache]
/// Are the words the same? If so, raises `difference` to the largest difference between their
/// probabilities, unless it is larger already.
bool compare(const Translation& a, const Translation& b, double& difference) {
    if (a.ids != b.ids || a.finished != b.finished) return false;
    for (std::size_t i = 0; i < a.probabilities.size(); ++i)
        difference =
            std::max<double>(difference, std::abs(a.probabilities[i] - b.probabilities[i]));
    return true;
}
// [cache: show]
/// Translates three sentences of training and all that are held out: without the cache, with it one
/// by one, and with it all at once.
void show_cache(const GreedyTranslator& translator, const Corpus& corpus) {
    const Transformer& model = translator.checkpoint.model;
    std::vector<SentencePair> pairs = corpus.held_out;
    std::copy_n(corpus.train.begin(), std::min<std::size_t>(3, corpus.train.size()),
                std::back_inserter(pairs));
    const std::vector<Translation> batch = translate_all(translator, corpus, pairs);
    Index same = 0;
    double difference = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const Ids src = translator.ids(pairs[i].source);
        const Translation plain = greedy_decode(model, src, translator.options);
        const auto alone = greedy_decode_cached(model, src, translator.options);
        same += compare(plain, alone.front(), difference) && compare(plain, batch[i], difference);
    }
    fmt::print("{} of {} translations are the same; probabilities differ by at most {:.1e}\n", same,
               pairs.size(), difference);
}
}  // namespace
// [main]
int main(int argc, char** argv) {
    std::string corpus = "toy", sentence;
    std::filesystem::path data, checkpoint;
    Index max_words = 50;
    Program program("Translate word by word, always taking the likeliest");
    Options& options = program.options();
    options.add("--corpus", corpus, "toy, notebook or grammar");
    options.add("--data", data, "file of pairs instead, one per line: source, tab, target")
        .excludes("--corpus");
    options.add("--checkpoint", checkpoint,
                "checkpoint to load (default: the one that chapter 9 wrote)");
    options.add("--translate", sentence, "translate this line and nothing else");
    options.add("--max-words", max_words, "most words in a translation").range(1, 5000);
    const Options cost =
        options.command("cost", "what decoding costs, with and without the key-value cache");
    const Options inside =
        options.command("inside", "what each part of the grammar's model does with a sentence");
    const Options seeds =
        options.command("seeds", "what holds for the grammar's models of five seeds");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        if (inside.chosen()) corpus = "grammar";
        if (cost.chosen()) return show_decoding_cost(program.seed(), results);
        if (seeds.chosen()) return show_seeds(results);
        const Task task = make_task(corpus, data);
        const bool one_line = options.given("--translate"), own_file = !checkpoint.empty();
        const SentencePair line{split_words(tidy(sentence)), {}};
        if (one_line && !own_file) source_ids(task.corpus.source, line.source);  // known words?

        const auto file = own_file ? checkpoint : find_checkpoint(task, program.seed());
        GreedyTranslator translator(load_checkpoint(file), max_words);
        if (!one_line || !own_file) require_words(translator.checkpoint, task, file);
        show_checkpoint(translator.checkpoint, file);
        if (inside.chosen()) {
            const auto without = find_checkpoint(grammar_task(false), program.seed());
            return show_inside(translator, {load_checkpoint(without), max_words}, task.corpus,
                               program.seed(), results);
        }
        if (one_line) return show_word_by_word(translator, line.source, "line", results);

        const std::vector<SentencePair>&train = task.corpus.train, &unseen = task.corpus.held_out;
        results.set("parameters", count_elements(parameters_of(translator.checkpoint.model)));
        show_sentences(translator, task.corpus, results);
        show_held_out(translator, task.corpus, results);
        section("Word by word");
        show_word_by_word(translator, train[0].source, "first", results);
        if (!unseen.empty()) {
            section("The unseen sentence");
            show_unseen(translator, task.corpus, results);
        }
        section("With a key-value cache");
        show_cache(translator, task.corpus);
        section("Dropout left on");
        show_dropout(translator, train[0].source, "first", results);
        if (!unseen.empty()) show_dropout(translator, unseen[0].source, "unseen", results);
    });
}
