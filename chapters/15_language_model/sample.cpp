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
Trained trained(std::uint64_t seed, Real smoothing) {
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
        fmt::print(stderr, "{} is missing, so the model is trained first.\n",
                   printable(path.string()));
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
namespace {

using Text = std::vector<std::int32_t>;  // ids of its words

/// The prompt's words, then words drawn until the end symbol comes or there are `most`.
/// @param stream  word t of continuation i is drawn by number `i * most + t`
Text continued(const Trained& t, Text text, const SamplingOptions& choice, const Stream& stream,
               Index i, Index most) {
    Continuation continuation(t.model);
    Tensor next;
    for (const std::int32_t word : text) next = continuation.next(word);
    for (Index drawn = 0; drawn < most; ++drawn) {
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
    results.set("words", p.size());
    results.set_varying("kept", std::ranges::count_if(q, [](double x) { return x > 0; }));
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
    sampling_probabilities(Tensor::zeros({1}), o.choice);  // refuses options before training
    const Text prompt = read_prompt(line_vocabulary(grammar_corpus()), o.prompt);
    if (!o.attention.empty()) AtomicFile(o.attention);  // refuses a place that cannot be written
    const Trained t = trained(1);
    if (o.top > 0) return show_next(t, prompt, o, results);
    const Stream stream = Random(seed).stream();
    for (Index i = 0; i < o.times; ++i) {
        const Text text = continued(t, prompt, o.choice, stream, i, o.words);
        fmt::print("{}\n", line_text(t, text));
        results.set_varying(fmt::format("text{}", i + 1), line_text(t, text));
        if (i == 0 && !o.attention.empty()) draw_map(t, text, o.attention);
    }
}
// [next]
namespace {

using Numbers = std::map<std::string, std::set<double>>;  // by name, of all seeds

/// After each word of one line: the logits of both models, which words come next in how many of
/// the grammar's lines, and how likely the models find those that never do.
void keep_next(const Trained& exact, const Trained& smooth, const std::set<std::string>& lines,
               Numbers& numbers, Results& results) {
    const std::string line = "我 有 一 个 好 朋 友 → I have a good friend .";
    const Text text = read_prompt(exact.words, line);
    Tensor counts = Tensor::zeros({std::ssize(text), exact.words.size()});
    for (const std::string& other : lines) {
        const Text next = read_prompt(exact.words, other);
        for (std::size_t i = 0; i < text.size() && next[i] == text[i]; ++i)
            ++counts(static_cast<Index>(i), next[i + 1]);
    }
    for (const auto& [name, t] : {std::pair("exact", &exact), std::pair("smooth", &smooth)}) {
        Continuation continuation(t->model);
        Tensor all(counts.shape());
        for (Index i = 0; i < all.dim(0); ++i) {
            const Tensor logits = continuation.next(text[static_cast<std::size_t>(i)]);
            std::ranges::copy(logits.values(), &all(i, 0));
            const std::vector<double> p = sampling_probabilities(logits);
            double never = 0;
            for (Index w = 0; w < logits.size(); ++w)
                if (counts(i, w) == 0) never += p[static_cast<std::size_t>(w)];
            numbers[fmt::format("{}_never", name)].insert(never);
        }
        results.array(fmt::format("next_{}", name), all);
    }
    results.array("next_counts", counts);
    results.set("next_line", line);
    results.set("next_words", join_words(exact.words.words()));
}

}  // namespace
// [choices]
void show_choices(Index seeds, Results& results) {
    constexpr Index draws = 500;
    const Corpus corpus = grammar_corpus();
    std::set<std::string> lines, trained_lines;
    for (const SentencePair& pair : corpus.train) trained_lines.insert(join_words(line_of(pair)));
    lines = trained_lines;
    for (const SentencePair& pair : corpus.held_out) lines.insert(join_words(line_of(pair)));
    const auto begun = [](const std::string& line) { return line.starts_with("我 "); };
    results.set("possible", std::ranges::count_if(lines, begun));
    results.set("possible_trained", std::ranges::count_if(trained_lines, begun));
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
    Numbers numbers;
    const auto show = [&](const Trained& t, std::size_t number, const char* name,
                          const SamplingOptions& choice, Index seed) {
        const Stream stream = Random(static_cast<std::uint64_t>(seed)).stream();
        Index right = 0, fresh = 0;
        std::set<std::string> different;
        const std::string key = fmt::format("{}_seed{}", number, seed);
        for (Index i = 0; i < draws; ++i) {
            const std::string line =
                line_text(t, continued(t, read_prompt(t.words, "我"), choice, stream, i, 40));
            if (i == 0) results.set_varying(key + "_first", line);
            if (right == i && !lines.contains(line)) results.set_varying(key + "_wrong", line);
            if (!lines.contains(line)) continue;
            ++right;
            if (different.insert(line).second) fresh += !trained_lines.contains(line);
        }
        table.row(key, name, seed, right, different.size(), fresh);
        numbers[fmt::format("{}_right", number)].insert(static_cast<double>(right));
        numbers[fmt::format("{}_new", number)].insert(static_cast<double>(fresh));
        std::fflush(stdout);
    };
    for (Index seed = 1; seed <= seeds; ++seed) {
        const Trained t = trained(static_cast<std::uint64_t>(seed));
        for (std::size_t c = 0; c < std::size(choices); ++c)
            show(t, c, choices[c].first, choices[c].second, seed);
        const Trained smooth = trained(static_cast<std::uint64_t>(seed), Real(0.1));
        show(smooth, 8, "smoothed, temperature 1", {}, seed);
        show(smooth, 9, "smoothed, top-p 0.8", {.top_p = Real(0.8)}, seed);
        Results none;  // arrays of the first models are enough
        keep_next(t, smooth, lines, numbers, seed == 1 ? results : none);
    }
    for (const auto& [name, found] : numbers) {
        results.set_varying(name + "_least", *found.begin());
        results.set_varying(name + "_most", *found.rbegin());
    }
}

}  // namespace abh
