#include "chapters/10_greedy_decoding/greedy_translator.hpp"

#include <algorithm>
#include <map>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/09_training/loss/argmax.hpp"
#include "lib/eigen.hpp"

namespace abh {
// [translate]
std::vector<Translation> translate_all(const GreedyTranslator& translator, const Corpus& corpus,
                                       const std::vector<SentencePair>& pairs) {
    return greedy_decode_cached(translator.checkpoint.model, make_batch(corpus, pairs).source.ids,
                                translator.options);
}

bool show(const GreedyTranslator& translator, const SentencePair& pair,
          const Translation& translation) {
    const Words words = translator.words(translation);
    fmt::print("{} -> {}\n", join_words(pair.source), join_words(words));
    if (!translation.finished)
        fmt::print("  stopped after {} words without the end symbol\n", words.size());
    if (words != pair.target && !pair.target.empty())
        fmt::print("  expected: {}\n", join_words(pair.target));
    return words == pair.target;
}
// [word by word]
namespace {

/// Softmax of the logits after each prefix from which a word or the end symbol was chosen,
/// `[1, t, tgt_words]`. Word t was chosen from row t, because no row sees the words after it.
Tensor probabilities(const GreedyTranslator& t, const Words& source,
                     const Translation& translation) {
    Ids read({1, static_cast<Index>(translation.probabilities.size())});
    read(0, 0) = t.options.start;
    std::copy_n(translation.ids.begin(), read.size() - 1, read.values().begin() + 1);
    return softmax(t.checkpoint.model.logits(t.ids(source), read));
}

/// Averages weights `[1, H, t, Ls]` over the heads, to `[t, Ls]`.
Tensor mean_over_heads(const Tensor& weights) {
    Tensor mean = Tensor::zeros({weights.dim(2), weights.dim(3)});
    for (Index h = 0; h < weights.dim(1); ++h)
        for (Index t = 0; t < mean.dim(0); ++t)
            for (Index s = 0; s < mean.dim(1); ++s)
                mean(t, s) += weights(0, h, t, s) / static_cast<Real>(weights.dim(1));
    return mean;
}

/// The largest weight of a row, averaged over the rows: 1 if every word looks at a single place.
double mean_strongest(const Tensor& weights) {
    return matrix(weights).rowwise().maxCoeff().mean();
}

}  // namespace
// [print]
void show_word_by_word(const GreedyTranslator& translator, const Words& source,
                       const std::string& name, Results& results) {
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
        fmt::print("{:>10}{:>10}{:>13.3f}    {:10}{:>11.3f}\n", reads, says, p(0, t, best[0]),
                   target.word(best[1]), p(0, t, best[1]));
        reads = says;
        said += (t == 0 ? "" : " ") + says;
    }
    results.set(name + "_source", join_words(source));
    results.set(name + "_said", said);
    results.set(name + "_answer", join_words(translator.words(translation)));
    const Tensor cross = mean_over_heads(translation.weights.decoder.back().cross);  // last layer
    results.array(name + "_cross", cross);                                           // [t, Ls]
    results.set_varying(name + "_strongest", mean_strongest(cross));
}
// [unseen]
void show_unseen(const GreedyTranslator& translator, const Corpus& corpus, Results& results) {
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

    fmt::print("right: {}; one of the training sentences: {}\n", right ? "yes" : "no",
               by_heart ? "yes" : "no");
    if (missed)
        fmt::print("the first word missed, {}, had probability {:.6f}\n", target.word(*wanted),
                   p(0, at - said.begin(), *wanted));

    // not the way to judge it: it reads the right words, as in training, instead of its own
    const Translation right_words{
        {expected.begin(), expected.end() - 1}, std::vector<Real>(expected.size()), true, {}};
    const auto fed = argmax(probabilities(translator, pair.source, right_words));  // [1, t]
    std::string answers;
    Index fed_right = 0;
    for (std::size_t t = 0; t < expected.size(); ++t) {
        const std::int32_t answer = fed.values()[t].word;
        answers += (t == 0 ? "" : " ") + target.word(answer);
        fed_right += answer == expected[t];
    }
    fmt::print("reading the right words, it says {}: {} of {} right\n", answers, fed_right,
               expected.size());
    results.set("unseen_fed_said", answers);
    results.set("unseen_fed_right", fed_right);
    results.set("unseen_expected", join_words(pair.target));
    results.set("unseen_right", right ? "yes" : "no");
    results.set("unseen_is_training", by_heart ? "yes" : "no");
}
// [dropout]
void show_dropout(GreedyTranslator& translator, const Words& source, const std::string& name,
                  Results& results) {
    constexpr Index draws = 10;
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
    results.set_varying(name + "_off", off);
    results.set_varying(name + "_lowest", lowest);
    results.set_varying(name + "_highest", highest);
}

}  // namespace abh
