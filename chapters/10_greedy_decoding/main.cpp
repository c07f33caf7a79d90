#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/09_training/training.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/10_greedy_decoding/incremental_decoder.hpp"
#include "lib/program.hpp"
#include "lib/stopwatch.hpp"

using namespace abh;
// [checkpoint]
namespace {

using Words = std::vector<std::string>;

/// The checkpoint of this task that chapter 9 left, or one that we train now.
std::filesystem::path find_checkpoint(const Task& task, std::uint64_t seed) {
    const std::filesystem::path file = default_checkpoint(task.name, seed);
    if (!std::filesystem::exists(file)) {
        Results chapter_9;  // what training finds out is not kept here
        train_with_output(task, seed, file, chapter_9);
    }
    return file;
}

/// Was the model in this file trained with the words of this corpus?
void require_words(const Checkpoint& checkpoint, const Task& task,
                   const std::filesystem::path& file) {
    require(checkpoint.source.words() == task.corpus.source.words() &&
                checkpoint.target.words() == task.corpus.target.words(),
            "{}: its words are not those of the corpus {}; name another, or train anew",
            file.string(), task.name);
}
// [translator]
/// A trained model, and how we let it translate.
struct Translator {
    Checkpoint checkpoint;
    DecodingOptions options;

    Translator(Checkpoint trained, Index max_words)
        : checkpoint(std::move(trained)),
          options{checkpoint.target.id(start_word), checkpoint.target.id(end_word), max_words} {}

    Ids ids(const Words& source) const { return source_ids(checkpoint.source, source); }
    Translation translate(const Words& source) const {
        return greedy_decode(checkpoint.model, ids(source), options, true);
    }
    Words words(const Translation& translation) const {
        Words result;
        for (std::int32_t id : translation.ids) result.push_back(checkpoint.target.word(id));
        return result;
    }
};

/// The pairs' sources in one batch, shorter ones padded.
std::vector<Translation> translate_all(const Translator& translator, const Corpus& corpus,
                                       const std::vector<SentencePair>& pairs) {
    return greedy_decode_cached(translator.checkpoint.model, make_batch(corpus, pairs).source,
                                translator.options);
}

/// Prints `我 有 一 个 好 朋 友 P -> I have a good friend .` Is that the translation we expect?
bool show(const Translator& translator, const SentencePair& pair, const Translation& translation) {
    const Words words = translator.words(translation);
    fmt::print("{} -> {}\n", join_words(pair.source), join_words(words));
    if (!translation.finished)
        fmt::print("  stopped after {} words without the end symbol\n", words.size());
    if (words != pair.target && !pair.target.empty())
        fmt::print("  expected: {}\n", join_words(pair.target));
    return words == pair.target;
}
// [sentences]
/// The first sentences of training, and of those held out the first and some more.
void show_sentences(const Translator& translator, const Corpus& corpus, Results& results) {
    section("Sentences of training");
    Index right = 0, shown = 0;
    for (const SentencePair& pair : corpus.train) {
        right += show(translator, pair, translator.translate(pair.source));
        if (++shown == 3) break;
    }
    fmt::print("{} of {} right\n", right, shown);
    results.set("train_shown", static_cast<double>(shown));
    results.set("train_right", static_cast<double>(right));

    if (corpus.held_out.empty()) return;
    section("Sentences that training never saw");
    const std::size_t apart = corpus.held_out.size() / 6 + 1;  // 31 of the grammar's 180
    for (std::size_t i = 0; i < corpus.held_out.size(); i += apart)
        show(translator, corpus.held_out[i], translator.translate(corpus.held_out[i].source));
}

void show_held_out(const Translator& translator, const Corpus& corpus, Results& results) {
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
    results.set("held_out", static_cast<double>(all));
    results.set("held_out_right", static_cast<double>(right));
    results.set("accuracy", percent);
}
// [as printed]
/// A list of words as Python prints it.
std::string python_list(const Words& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "'" : ", '") + word + "'";
    return "[" + text + "]";
}

/// What the toy's program prints for the sentence that it translates: a rule, a heading, ids,
/// words.
void show_as_printed(const Translator& translator, const Words& source) {
    const Translation translation = translator.translate(source);
    const Ids src = translator.ids(source);
    Ids said({static_cast<Index>(translation.ids.size())});
    std::copy(translation.ids.begin(), translation.ids.end(), said.data());
    fmt::print("\n{}\nGreedy decoding of: {}\n", std::string(30, '='), join_words(source));
    fmt::print("{} -> {}\n", tensor_text(src.reshape({src.size()})), tensor_text(said));
    fmt::print("{} -> {}\n", python_list(source), python_list(translator.words(translation)));
}
// [word by word]
/// Softmax of the decoder's output after the start symbol and after each word of the translation,
/// `[1, t, tgt_words]`: row t is what chose word t, since no row sees the words after it.
Tensor probabilities(const Translator& t, const Words& source, const Translation& translation) {
    Ids read({1, static_cast<Index>(translation.probabilities.size())});
    read(0, 0) = t.options.start;
    std::copy_n(translation.ids.begin(), read.size() - 1, read.data() + 1);
    return softmax(t.checkpoint.model.forward(t.ids(source), read));
}

/// `[1, H, t, Ls]` becomes `[t, Ls]`.
Tensor mean_over_heads(const Tensor& weights) {
    Tensor mean = Tensor::zeros({weights.dim(2), weights.dim(3)});
    for (Index h = 0; h < weights.dim(1); ++h)
        for (Index i = 0; i < mean.size(); ++i)
            mean.data()[i] +=
                weights.data()[h * mean.size() + i] / static_cast<Real>(weights.dim(1));
    return mean;
}

/// The largest weight of a row, mean over the rows: 1 where every word looks at one place alone.
double mean_strongest(const Tensor& weights) {
    double sum = 0;
    for (Index t = 0; t < weights.dim(0); ++t)
        sum += *std::max_element(&weights(t, 0), &weights(t, 0) + weights.dim(1));
    return sum / static_cast<double>(weights.dim(0));
}
// [word by word: print]
/// Every step: the word chosen, how likely it was, and the runner-up.
void show_word_by_word(const Translator& translator, const Words& source, const std::string& name,
                       Results& results) {
    const Translation translation = translator.translate(source);
    const Tensor p = probabilities(translator, source, translation);
    const Vocabulary& target = translator.checkpoint.target;
    show(translator, {source, {}}, translation);
    fmt::print("{:>10}{:>10}{:>13}    {:10}{:>11}\n", "reads", "says", "probability", "next best",
               "probability");
    std::string said, reads = start_word;
    for (Index t = 0; t < p.dim(1); ++t) {
        std::vector<std::int32_t> best(static_cast<std::size_t>(p.dim(2)));
        for (std::size_t i = 0; i < best.size(); ++i) best[i] = static_cast<std::int32_t>(i);
        std::partial_sort(best.begin(), best.begin() + 2, best.end(),
                          [&](auto a, auto b) { return p(0, t, a) > p(0, t, b); });
        const std::string& says = target.word(best[0]);
        fmt::print("{:>10}{:>10}{:>13.6f}    {:10}{:>11.6f}\n", reads, says, p(0, t, best[0]),
                   target.word(best[1]), p(0, t, best[1]));
        reads = says;
        said += (t == 0 ? "" : " ") + says;
    }
    results.set(name + "_source", join_words(source));
    results.set(name + "_said", said);
    results.set(name + "_answer", join_words(translator.words(translation)));
    results.array(name + "_probabilities", p.reshape({p.dim(1), p.dim(2)}));
    const Tensor cross = mean_over_heads(translation.maps.decoder.back().cross);  // last layer
    results.array(name + "_cross", cross);                                        // [t, Ls]
    results.set_varying(name + "_strongest", mean_strongest(cross));
}
// [unseen]
/// What the model says about a sentence that training never saw, and where it goes astray.
void show_unseen(const Translator& translator, const Corpus& corpus, Results& results) {
    const SentencePair& pair = corpus.held_out.front();
    show_word_by_word(translator, pair.source, "unseen", results);
    const Translation translation = translator.translate(pair.source);
    const bool by_heart = std::any_of(
        corpus.train.begin(), corpus.train.end(),
        [&](const SentencePair& known) { return known.target == translator.words(translation); });

    const Vocabulary& target = translator.checkpoint.target;
    std::vector<std::int32_t> said = translation.ids, expected;
    if (translation.finished) said.push_back(translator.options.end);
    for (const std::string& word : pair.target) expected.push_back(target.id(word));
    expected.push_back(translator.options.end);
    const auto [at, wanted] =
        std::mismatch(said.begin(), said.end(), expected.begin(), expected.end());
    const bool right = said == expected, missed = at != said.end();
    const Tensor p = probabilities(translator, pair.source, translation);
    const Real p_missed = missed ? p(0, at - said.begin(), *wanted) : 0;

    fmt::print("as expected: {}; a sentence of training: {}\n", right ? "yes" : "no",
               by_heart ? "yes" : "no");
    if (missed)
        fmt::print("the first word missed, {}, had probability {:.6f}\n", target.word(*wanted),
                   p_missed);
    results.set("unseen_expected", join_words(pair.target));
    results.set("unseen_right", right ? "yes" : "no");
    results.set("unseen_is_training", by_heart ? "yes" : "no");
    results.set("missed_word", missed ? target.word(*wanted) : "none");
    results.set_varying("missed_probability", p_missed);
}
// [dropout]
/// The common mistake: dropout left on. Each draw drops other elements, as a new training step
/// does.
void show_dropout(Translator& translator, const Words& source, Index draws, const std::string& name,
                  Results& results) {
    DecodingOptions options = translator.options;
    options.dropout = true;
    std::map<std::string, Index> answers;
    double lowest = 1, highest = 0;  // probability of the least certain word
    for (Index i = 0; i < draws; ++i) {
        translator.checkpoint.model.random().next_step();
        const Translation t =
            greedy_decode(translator.checkpoint.model, translator.ids(source), options);
        ++answers[join_words(translator.words(t))];
        const double p = *std::min_element(t.probabilities.begin(), t.probabilities.end());
        lowest = std::min(lowest, p);
        highest = std::max(highest, p);
    }
    const Translation calm = translator.translate(source);
    const double off = *std::min_element(calm.probabilities.begin(), calm.probabilities.end());
    fmt::print("{}\n  probability of the least certain word: off {:.6f}, on {:.6f} to {:.6f}\n",
               join_words(source), off, lowest, highest);
    for (const auto& [answer, times] : answers)
        fmt::print("  {:3} of {}: {}\n", times, draws, answer);
    results.set(name + "_answers", static_cast<double>(answers.size()));
    results.set_varying(name + "_off", off);
    results.set_varying(name + "_lowest", lowest);
    results.set_varying(name + "_highest", highest);
}
// [cache]
/// Are the words the same? `difference` becomes the largest that probabilities have, at least.
bool compare(const Translation& a, const Translation& b, double& difference) {
    if (a.ids != b.ids || a.finished != b.finished) return false;
    for (std::size_t i = 0; i < a.probabilities.size(); ++i)
        difference =
            std::max<double>(difference, std::abs(a.probabilities[i] - b.probabilities[i]));
    return true;
}
// [cache: show]
/// Three sentences of training and all held out: without the cache, with it one by one, and at
/// once.
void show_cache(const Translator& translator, const Corpus& corpus, Results& results) {
    const Transformer& model = translator.checkpoint.model;
    std::vector<SentencePair> pairs = corpus.held_out;
    std::copy_n(corpus.train.begin(), std::min<std::size_t>(3, corpus.train.size()),
                std::back_inserter(pairs));
    std::vector<Translation> plain, cached, batch;
    double plain_ms = 0, cached_ms = 0, difference = 0;
    for (const SentencePair& pair : pairs) {
        const Ids src = translator.ids(pair.source);
        plain_ms +=
            milliseconds([&] { plain.push_back(greedy_decode(model, src, translator.options)); });
        cached_ms += milliseconds([&] {
            cached.push_back(greedy_decode_cached(model, src, translator.options).front());
        });
    }
    const double batch_ms = milliseconds([&] { batch = translate_all(translator, corpus, pairs); });
    Index same = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        same += compare(plain[i], cached[i], difference) && compare(plain[i], batch[i], difference);
    const double n = static_cast<double>(pairs.size());
    fmt::print("{} of {} translations the same; probabilities differ by at most {:.1e}\n", same,
               pairs.size(), difference);
    fmt::print("a sentence takes {:.2f} ms without the cache, {:.2f} ms with it,\n", plain_ms / n,
               cached_ms / n);
    fmt::print("and {:.2f} ms where all are translated at once\n", batch_ms / n);
    results.set("cache_sentences", n);
    results.set("cache_same", static_cast<double>(same));
    results.set_varying("cache_difference", difference);
    results.set_varying("plain_ms", plain_ms / n, "ms");
    results.set_varying("cached_ms", cached_ms / n, "ms");
    results.set_varying("batch_ms", batch_ms / n, "ms");
}
// [cost]
/// What ever longer outputs cost, on a model with random weights and no end symbol.
void show_cost(std::uint64_t seed, Results& results) {
    section("Cost of n words");
    const TransformerOptions options = grammar_task().model;
    Random random(seed);
    const Transformer model(options, random);
    const Ids src =
        random_ids({1, 8}, 1, static_cast<std::int32_t>(options.src_words), random.stream());
    const std::vector<Index> lengths{4, 8, 16, 32, 64, 128};
    Ids words({6});
    Tensor counts({2, 6}), times({2, 6});
    fmt::print("{:>5}{:>22}{:>14}{:>8}{:>18}{:>11}{:>8}\n", "n", "multiply-adds: plain", "cached",
               "ratio", "ms: plain", "cached", "ratio");
    for (Index i = 0; i < words.size(); ++i) {
        const Index n = lengths[static_cast<std::size_t>(i)];
        const DecodingOptions endless{.start = 1, .end = -1, .max_words = n};
        const auto plain = decoder_multiply_adds(options, src.size(), n, false);
        const auto cached = decoder_multiply_adds(options, src.size(), n, true);
        const double plain_ms = best_of(3, [&] { greedy_decode(model, src, endless); });
        const double cached_ms = best_of(3, [&] { greedy_decode_cached(model, src, endless); });
        fmt::print("{:>5}{:>22}{:>14}{:>8.1f}{:>18.2f}{:>11.2f}{:>8.1f}\n", n, plain, cached,
                   static_cast<double>(plain) / static_cast<double>(cached), plain_ms, cached_ms,
                   plain_ms / cached_ms);
        words(i) = static_cast<std::int32_t>(n);
        counts(0, i) = static_cast<Real>(plain);
        counts(1, i) = static_cast<Real>(cached);
        times(0, i) = static_cast<Real>(plain_ms);
        times(1, i) = static_cast<Real>(cached_ms);
    }
    results.array("words", words);
    results.array("multiply_adds", counts);
    results.array("milliseconds", times);
    results.set("count_ratio", counts(0, 5) / counts(1, 5));
    results.set_varying("time_ratio", times(0, 5) / times(1, 5));
}
// [cost: batch]
/// What a sentence costs in a batch of ever more: 24 words about 24, on the paper's base model with
/// random weights.
void show_batches(std::uint64_t seed, Results& results) {
    section("Cost of a sentence in a batch");
    TransformerOptions options = TransformerOptions::article();
    options.src_words = options.tgt_words = 8000;
    Random random(seed);
    const Transformer model(options, random);
    const DecodingOptions endless{.start = 1, .end = -1, .max_words = 24};
    fmt::print("{:>10}{:>16}{:>17}\n", "sentences", "ms a sentence", "words a second");
    double alone_ms = 0;
    for (Index n : {1, 4, 16, 64}) {
        const Ids src = random_ids({n, 24}, 1, 8000, random.stream());
        greedy_decode_cached(model, src, endless);  // warm
        const double ms =
            best_of(2, [&] { greedy_decode_cached(model, src, endless); }) / static_cast<double>(n);
        fmt::print("{:>10}{:>16.1f}{:>17.0f}\n", n, ms, 24 * 1000 / ms);
        if (n == 1) alone_ms = ms;
        results.set_varying(fmt::format("batch_{}_ms", n), ms, "ms");
        results.set_varying(fmt::format("batch_{}_gain", n), alone_ms / ms);
    }
}
// [cost: one query]
/// Attention of one query a sentence and head, as `attention` and as `attend_one`.
void show_one_query(std::uint64_t seed, Results& results) {
    section("Cost of one query");
    const Index batch = 32, heads = 8, d_k = 64;
    Random random(seed);
    const Tensor q = normal({batch, heads, 1, d_k}, random.stream());
    Ids sentences({batch});
    std::iota(sentences.values().begin(), sentences.values().end(), 0);
    fmt::print("{:>5}{:>22}{:>22}\n", "keys", "attention: us", "attend_one: us");
    for (Index keys : {8, 32, 128}) {
        const KeyValues kv{normal({batch, heads, keys, d_k}, random.stream()),
                           normal({batch, heads, keys, d_k}, random.stream())};
        const Mask mask = Mask::zeros({batch, 1, 1, keys});
        const Mask hidden = mask.reshape({batch, 1, keys, 1});
        const double plain = 1000 * best_of(20, [&] { attention(q, kv.k, kv.v, mask); });
        const double one =
            1000 * best_of(20, [&] { attend_one(q, kv, keys, hidden, sentences, {}); });
        fmt::print("{:>5}{:>22.0f}{:>22.0f}\n", keys, plain, one);
        results.set_varying(fmt::format("query_{}_gain", keys), plain / one);
    }
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    std::string corpus = "toy", sentence;
    std::filesystem::path data, checkpoint;
    Index max_words = 50, draws = 10;
    bool cost = false;
    Program program("Translate word by word, each time the likeliest.");
    CLI::App& app = program.app();
    app.add_option("--corpus", corpus, "toy, notebook or grammar");
    app.add_option("--data", data, "file of pairs instead: source, tab, target");
    app.add_option("--checkpoint", checkpoint, "model to load; default: that of chapter 9");
    app.add_option("--translate", sentence, "translate this line and nothing else");
    app.add_option("--max-words", max_words, "longest translation")->check(CLI::Range(1, 5000));
    app.add_option("--draws", draws, "translations with dropout left on")
        ->check(CLI::Range(1, 1000));
    app.add_flag("--cost", cost, "instead: cost with and without the key-value cache");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        if (cost) {
            show_cost(program.seed(), results);
            show_batches(program.seed(), results);
            return show_one_query(program.seed(), results);
        }
        const Task task = make_task(corpus, data);
        const bool one_line = app.count("--translate") > 0, own_file = !checkpoint.empty();
        const SentencePair line{split_words(sentence), {}};
        if (one_line && !own_file) source_ids(task.corpus.source, line.source);  // known words?

        const auto file = own_file ? checkpoint : find_checkpoint(task, program.seed());
        Translator translator(load_checkpoint(file), max_words);
        if (!one_line || !own_file) require_words(translator.checkpoint, task, file);
        if (one_line) return show_word_by_word(translator, line.source, "line", results);

        const std::vector<SentencePair>&train = task.corpus.train, &unseen = task.corpus.held_out;
        results.set("parameters", static_cast<double>(
                                      count_elements(parameters_of(translator.checkpoint.model))));
        show_sentences(translator, task.corpus, results);
        show_held_out(translator, task.corpus, results);
        section("As the toy's program prints it");
        show_as_printed(translator, train[std::min<std::size_t>(1, train.size() - 1)].source);
        section("Word by word");
        show_word_by_word(translator, train[0].source, "first", results);
        if (!unseen.empty()) {
            section("The unseen sentence");
            show_unseen(translator, task.corpus, results);
        }
        section("With a key-value cache");
        show_cache(translator, task.corpus, results);
        section("Dropout left on");
        show_dropout(translator, train[0].source, draws, "first", results);
        if (!unseen.empty()) show_dropout(translator, unseen[0].source, draws, "unseen", results);
    });
}
