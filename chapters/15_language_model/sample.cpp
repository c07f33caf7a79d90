#include "chapters/15_language_model/sample.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "chapters/09_training/data/grammar.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/model/checkpoint.hpp"
#include "chapters/15_language_model/continuation.hpp"
#include "chapters/15_language_model/experiment.hpp"
#include "chapters/15_language_model/training.hpp"
#include "lib/io/files.hpp"
#include "lib/io/unicode.hpp"

namespace abh {
// [model]
namespace {

/// A stack of today, trained on the grammar's lines, every word counting, and its words.
struct Trained {
    Vocabulary words;
    Llama model;
};

/// @param smoothing  of the loss; 0 for a model whose probabilities shall be the text's
Trained trained(std::uint64_t seed, Real smoothing = 0) {
    Task task = grammar_task();
    task.training.smoothing = smoothing;
    Trained t{line_vocabulary(task.corpus),
              {llama_options(line_vocabulary(task.corpus).size()), Random(seed)}};
    const auto path =
        default_checkpoint(smoothing > 0 ? "language-model-smooth" : "language-model", seed);
    TensorFile file;
    file.metadata["words"] = join_words(t.words.words());
    for (const NamedParameter& p : parameters_of(t.model))
        file.tensors[p.name] = p.parameter->value;
    if (!std::filesystem::exists(path)) {
        fmt::print("{} is missing, so the model is trained first.\n", printable(path.string()));
        std::fflush(stdout);
        try_to_save_safetensors(path, file);
        Progress progress("training", count_steps(task.corpus, task.training));
        train_lines(t.model, t.words, task.corpus.train, Counted::all, task.training,
                    [&](const StepReport& r) { progress.show(r.step); });
        save_safetensors(path, file);
    }
    const TensorFile found = load_safetensors(path);
    require(found.metadata == file.metadata,
            "{}: not a language model of these words; remove it, and one is trained",
            printable(path.string()));
    for (const NamedParameter& p : parameters_of(t.model))
        p.parameter->assign(found.at(p.name, p.parameter->value.shape()));
    return t;
}
// [continue]
using Text = std::vector<std::int32_t>;

/// The prompt's words, then words drawn until the end symbol comes or there are `most`.
/// @param stream   word t of continuation i is drawn by number `i * most + t`
/// @param logits   if given, receives those of every word drawn
Text continued(const Trained& t, Text text, const SamplingOptions& choice, const Stream& stream,
               Index i, Index most, std::vector<Tensor>* logits = nullptr) {
    Continuation continuation(t.model);
    Tensor next;
    for (const std::int32_t word : text) next = continuation.next(word);
    for (Index drawn = 0; drawn < most; ++drawn) {
        if (logits) logits->push_back(next);
        text.push_back(
            sample(sampling_probabilities(next, choice), stream.uniform(i * most + drawn)));
        if (t.words.word(text.back()) == end_word || std::ssize(text) >= t.model.options().context)
            break;
        next = continuation.next(text.back());
    }
    return text;
}

Text read_prompt(const Vocabulary& words, const std::string& prompt) {
    const Index context = llama_options(words.size()).context;
    Text text;
    for (const std::string& word : split_words(prompt)) {
        require(std::ranges::count(words.words(), word) == 1,
                "the model does not know {}; it knows, with spaces between them: {}",
                printable(word), join_words(words.words()));
        text.push_back(words.id(word));
    }
    require(!text.empty(), "the prompt is empty, expected words such as 我 有");
    require(std::ssize(text) < context, "the prompt has {} words, but the model's context has {}",
            text.size(), context);
    return text;
}

std::string line_text(const Trained& t, const Text& text) {
    std::vector<std::string> words;
    for (const std::int32_t id : text) words.push_back(t.words.word(id));
    return join_words(words);
}
// [next words]
/// The likeliest next words, their probabilities, and what the options leave of these.
void show_next(const Trained& t, const Text& prompt, const SampleOptions& o, Results& results) {
    Continuation continuation(t.model);
    Tensor logits;
    for (const std::int32_t word : prompt) logits = continuation.next(word);
    const std::vector<double> p = sampling_probabilities(logits),
                              q = sampling_probabilities(logits, o.choice);
    std::vector<std::int32_t> order(p.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](std::int32_t j) {
        return std::pair(q[static_cast<std::size_t>(j)], p[static_cast<std::size_t>(j)]);
    });
    order.resize(std::min(order.size(), static_cast<std::size_t>(o.top)));
    Table table(results, {{"", "<10"},
                          varying("softmax", "8.4f", "next_{}"),
                          varying("drawn from", "8.4f", "drawn_{}"),
                          {"", "<30"}});
    for (const std::int32_t j : order) {
        const double drawn = q[static_cast<std::size_t>(j)];
        std::string bar;
        for (int block = 0; block < static_cast<int>(30 * drawn + 0.5); ++block) bar += "█";
        table.row(t.words.word(j), t.words.word(j), p[static_cast<std::size_t>(j)], drawn, bar);
    }
}
// [map]
/// Draws how much each word of the text looks at each word before it, on average over all heads of
/// the last layer.
void draw_map(const Trained& t, const Text& text, const std::filesystem::path& path) {
    const Index n = std::ssize(text), cell = 28, left = 90, top = 90;
    Ids ids({1, n});
    std::ranges::copy(text, ids.values().begin());
    std::vector<Tensor> weights;  // [1, H, n, n] of each layer
    t.model.forward(ids, nullptr, &weights);
    const Tensor& last = weights.back();
    std::string svg = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{0}' font-family='sans-serif' "
        "font-size='14'>\n<rect width='100%' height='100%' fill='white'/>\n",
        left + n * cell + 10);
    for (Index i = 0; i < n; ++i) {
        const std::string& word = t.words.word(text[static_cast<std::size_t>(i)]);
        svg += fmt::format(
            "<text x='{}' y='{}' text-anchor='end'>{}</text>\n<text transform='translate({},{}) "
            "rotate(-60)'>{}</text>\n",
            left - 6, top + i * cell + 19, word, left + i * cell + 16, top - 6, word);
        for (Index j = 0; j <= i; ++j) {
            double weight = 0;
            for (Index h = 0; h < last.dim(1); ++h) weight += last(0, h, i, j);
            svg += fmt::format(
                "<rect x='{}' y='{}' width='{}' height='{}' fill='#1f6fb4' stroke='#ddd' "
                "fill-opacity='{:.3f}'><title>{} at {}: {:.2f}</title></rect>\n",
                left + j * cell, top + i * cell, cell, cell,
                weight / static_cast<double>(last.dim(1)), word,
                t.words.word(text[static_cast<std::size_t>(j)]),
                weight / static_cast<double>(last.dim(1)));
        }
    }
    AtomicFile file(path);
    file.write(svg + "</svg>\n");
    file.commit();
    fmt::print("\nwhere each word looks: {}\n", printable(path.string()));
}

}  // namespace
// [sample]
void show_samples(const SampleOptions& o, std::uint64_t seed, Results& results) {
    const Text prompt = read_prompt(line_vocabulary(grammar_corpus()), o.prompt);
    const Trained t = trained(1);
    if (o.top > 0) return show_next(t, prompt, o, results);
    const Stream stream = Random(seed).stream();
    Text first;
    for (Index i = 0; i < o.times; ++i) {
        std::vector<Tensor> logits;
        const Text text = continued(t, prompt, o.choice, stream, i, o.words, &logits);
        fmt::print("{}\n", line_text(t, text));
        results.set_varying(fmt::format("text{}", i + 1), line_text(t, text));
        if (i > 0) continue;
        first = text;
        Tensor all({std::ssize(logits), t.words.size()});
        for (std::size_t row = 0; row < logits.size(); ++row)
            std::ranges::copy(logits[row].values(),
                              all.values().begin() +
                                  std::ssize(t.words.words()) * static_cast<std::ptrdiff_t>(row));
        results.array("logits", all);
    }
    results.set("words", join_words(t.words.words()));
    if (!o.attention.empty()) draw_map(t, first, o.attention);
}
// [choices]
void show_choices(Index seeds, Results& results) {
    constexpr Index draws = 500;
    const Corpus corpus = grammar_corpus();
    std::set<std::string> lines, trained_lines;
    for (const SentencePair& pair : corpus.train) trained_lines.insert(join_words(line_of(pair)));
    lines = trained_lines;
    for (const SentencePair& pair : corpus.held_out) lines.insert(join_words(line_of(pair)));
    const std::pair<const char*, SamplingOptions> choices[] = {
        {"temperature 0", {.temperature = 0}},
        {"temperature 0.5", {.temperature = Real(0.5)}},
        {"temperature 1", {}},
        {"temperature 1.5", {.temperature = Real(1.5)}},
        {"temperature 2", {.temperature = 2}},
        {"top-k 5", {.top_k = 5}},
        {"top-p 0.9", {.top_p = Real(0.9)}},
        {"temperature 1.5, top-p 0.9", {.temperature = Real(1.5), .top_p = Real(0.9)}}};
    Table table(results, {{"", "<28"},
                          {"seed", "4"},
                          varying("of the grammar", "8", "{}_right"),
                          varying("different", "8", "{}_different"),
                          varying("never trained", "8", "{}_new")});
    const auto show = [&](const Trained& t, std::size_t number, const char* name,
                          const SamplingOptions& choice, Index seed) {
        const Stream stream = Random(static_cast<std::uint64_t>(seed)).stream();
        Index right = 0, fresh = 0;
        std::set<std::string> different;
        for (Index i = 0; i < draws; ++i) {
            const std::string line =
                line_text(t, continued(t, read_prompt(t.words, "我"), choice, stream, i, 40));
            if (!lines.contains(line)) continue;
            ++right;
            if (different.insert(line).second) fresh += !trained_lines.contains(line);
        }
        table.row(fmt::format("{}_seed{}", number, seed), name, seed, right, different.size(),
                  fresh);
        std::fflush(stdout);
    };
    for (Index seed = 1; seed <= seeds; ++seed) {
        const Trained t = trained(static_cast<std::uint64_t>(seed));
        for (std::size_t c = 0; c < std::size(choices); ++c)
            show(t, c, choices[c].first, choices[c].second, seed);
        const Trained smooth = trained(static_cast<std::uint64_t>(seed), Real(0.1));
        show(smooth, 8, "smoothed, temperature 1", {}, seed);
        show(smooth, 9, "smoothed, top-p 0.8", {.top_p = Real(0.8)}, seed);
    }
}

}  // namespace abh
