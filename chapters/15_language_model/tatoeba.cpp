#include "chapters/15_language_model/tatoeba.hpp"

#include <algorithm>

#include "chapters/09_training/loop/task.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "chapters/15_language_model/language_model.hpp"
#include "chapters/15_language_model/training.hpp"

namespace abh {
// [text]
namespace {

constexpr std::size_t longest = 100;  // pieces of a sentence

/// Pairs whose words are the numbers of pieces, and one vocabulary for both languages.
Corpus corpus_of(const Subwords& subwords, const ParallelText& text) {
    Corpus corpus = empty_corpus();
    for (Index id = 0; id < subwords.size(); ++id) corpus.target.add(std::to_string(id));
    corpus.source = corpus.target;
    const auto numbers = [&](const std::string& sentence) {
        std::vector<std::string> words;
        for (const std::int32_t id : subwords.encode(sentence)) words.push_back(std::to_string(id));
        words.resize(std::min(words.size(), longest));
        return words;
    };
    for (const TextPair& pair : text.train)
        corpus.train.push_back({numbers(pair.source), numbers(pair.target)});
    for (const TextPair& pair : text.test)
        corpus.held_out.push_back({numbers(pair.source), numbers(pair.target)});
    return corpus;
}

std::string text_of(const Subwords& subwords, const Vocabulary& words,
                    std::span<const std::int32_t> ids) {
    std::vector<std::int32_t> pieces;
    for (const std::int32_t id : ids)
        if (const std::string& word = words.word(id);
            word.find_first_not_of("0123456789") == std::string::npos)
            pieces.push_back(std::stoi(word));
    return subwords.decode(pieces);
}
// [translate]
/// The texts, each continued by the likeliest word until the end symbol comes. Every new word
/// computes all rows again.
std::vector<std::vector<std::int32_t>> continue_all(const Stack& model, const Vocabulary& words,
                                                    std::vector<std::vector<std::int32_t>> texts) {
    for (std::size_t said = 0; said <= longest; ++said) {
        std::vector<std::size_t> open;
        std::size_t most = 0;
        for (std::size_t i = 0; i < texts.size(); ++i)
            if (texts[i].back() != words.id(end_word))
                open.push_back(i), most = std::max(most, texts[i].size());
        if (open.empty()) break;
        Ids ids = Ids::zeros({std::ssize(open), static_cast<Index>(most)});
        for (std::size_t b = 0; b < open.size(); ++b)
            std::ranges::copy(texts[open[b]], &ids(static_cast<Index>(b), 0));
        const Sentences read(ids, leave_out_pads(ids));
        const BasicTensor<Prediction> next = argmax(model.output.forward(model.forward(read)));
        for (std::size_t b = 0; b < open.size(); ++b)
            texts[open[b]].push_back(
                next(0, read.packing.begin(static_cast<Index>(b) + 1) - 1).word);
    }
    return texts;
}

std::vector<std::string> translate(const Stack& model, const Corpus& corpus,
                                   const Vocabulary& words, const Subwords& subwords) {
    std::vector<std::string> all;
    for (std::size_t first = 0; first < corpus.held_out.size(); first += 32) {
        std::vector<std::vector<std::int32_t>> texts;
        for (std::size_t i = first; i < std::min(first + 32, corpus.held_out.size()); ++i) {
            std::vector<std::int32_t>& text = texts.emplace_back();
            for (const auto& word : corpus.held_out[i].source) text.push_back(words.id(word));
            text.push_back(words.id(arrow_word));
        }
        const std::vector<std::vector<std::int32_t>> said = continue_all(model, words, texts);
        for (std::size_t b = 0; b < texts.size(); ++b)
            all.push_back(text_of(subwords, words, std::span(said[b]).subspan(texts[b].size())));
    }
    return all;
}

std::vector<std::string> translate(const Transformer& model, const Corpus& corpus,
                                   const Subwords& subwords) {
    std::vector<std::string> all;
    const DecodingOptions options{corpus.target.id(start_word), corpus.target.id(end_word),
                                  longest};
    for (std::size_t first = 0; first < corpus.held_out.size(); first += 32) {
        const std::size_t n = std::min<std::size_t>(32, corpus.held_out.size() - first);
        const Batch batch = make_batch(corpus, std::span(corpus.held_out).subspan(first, n));
        for (const Translation& said : greedy_decode_cached(model, batch.source.ids, options))
            all.push_back(text_of(subwords, corpus.target, said.ids));
    }
    return all;
}

}  // namespace
// [tatoeba]
void show_tatoeba(Index seeds, Results& results) {
    const ParallelText text = tatoeba();
    const Subwords subwords = Subwords::train(both_sides(text.train), 4000);
    Task task = grammar_task();
    task.corpus = corpus_of(subwords, text);
    task.training.epochs = 6;
    task.training.batch_size = 48;
    task.training.learning_rate = Real(3e-3);
    task.training.warmup = 200;
    task.training.bucket_by_length = true;
    task.model.src_words = task.model.tgt_words = task.corpus.source.size();
    task.model.tied = Tied::all;
    const Vocabulary words = line_vocabulary(task.corpus);
    const StackOptions options{words.size(),         5,   task.model.layer, task.model.embedding,
                               task.model.positions, true};
    const std::vector<std::string> right = targets(text.test);
    fmt::print("{} pairs, {} held out; {} steps\n\n", text.train.size(), text.test.size(),
               count_steps(task.corpus, task.training));
    Table table(results, {{"", "<22"},
                          {"seed", "4"},
                          {"parameters", "10", "{}_parameters"},
                          varying("loss", "7.4f", "{}_loss"),
                          varying("BLEU", "6.2f", "{}_bleu"),
                          varying("95 %", "6.2f", "{}_half_width"),
                          varying("p", "6.3f", "{}_p")});
    const auto with_progress = [&](const auto& learn) {
        Progress progress("training", count_steps(task.corpus, task.training));
        learn([&](const StepReport& r) { progress.show(r.step); });
    };
    for (Index i = 1; i <= seeds; ++i) {
        const auto seed = static_cast<std::uint64_t>(i);
        std::vector<Counts> first;
        const auto row = [&](const char* what, const char* name, auto& model, double loss,
                             const std::vector<std::string>& said) {
            const std::vector<Counts> counts = count_sentences(said, right);
            const Interval interval = interval_of(bootstrap(counts, {}, 1));
            const double p = first.empty() ? 1 : p_value(first, counts, {}, 1);
            if (first.empty()) first = counts;
            table.row(fmt::format("{}_seed{}", name, i), what, i,
                      count_elements(parameters_of(model)), loss, bleu_parts(sum_of(counts)).value,
                      interval.half_width, p);
            std::fflush(stdout);
        };
        Transformer two(task.model, Random(seed));
        with_progress([&](const auto& show) { train(two, task.corpus, task.training, show); });
        row("encoder and decoder", "two", two,
            evaluate(two, task.corpus, task.corpus.held_out).loss,
            translate(two, task.corpus, subwords));
        Stack one(options, Random(seed));
        with_progress([&](const auto& show) {
            train_lines(one, words, task.corpus.train, Counted::translation, task.training, show);
        });
        row("one stack", "one", one, evaluate_lines(one, words, task.corpus.held_out).loss,
            translate(one, task.corpus, words, subwords));
    }
}

}  // namespace abh
