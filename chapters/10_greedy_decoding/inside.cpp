#include "chapters/10_greedy_decoding/inside.hpp"

#include <algorithm>
#include <cmath>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/09_training/loss/argmax.hpp"
#include "lib/eigen.hpp"
#include "lib/program/output.hpp"

namespace abh {
namespace {

using Vectors = std::vector<Tensor>;  // of one sentence: [1, L, d_model], layer by layer

double cosine(const Tensor& a, const Tensor& b) {
    return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

/// The vectors of the start symbol and the words said, before the decoder's first layer and after
/// each layer.
Vectors decoder_vectors(const Transformer& model, const Ids& src, const Ids& tgt) {
    const Tensor memory = model.encode(src);
    Vectors y = {model.tgt_positions.forward(model.tgt_embed.forward(tgt))};
    for (const DecoderLayer& layer : model.decoder.layers)
        y.push_back(
            layer.forward(y.back(), memory, model.target_mask(tgt), model.source_mask(src, tgt)));
    return y;
}
// [first maps]
/// The weights of the encoder's first layer before any training: of a table that starts narrow, as
/// the model's did, and of one with deviation 1.
void keep_first_maps(TransformerOptions options, const Ids& src, std::uint64_t seed,
                     Results& results) {
    const auto first_map = [&](const char* name) {
        Transformer::AttentionWeights weights;
        Transformer(options, Random(seed)).encode(src, nullptr, &weights);
        results.array(name, weights.encoder.front());  // [1, H, Ls, Ls]
    };
    first_map("start_narrow");
    options.embedding.deviation = 1;
    first_map("start_wide");
}
// [words]
/// A row of the table begins at random, and training moves it. Which words are moved the same way?
void keep_words(const Checkpoint& checkpoint, std::uint64_t seed, Results& results) {
    const Vocabulary& words = checkpoint.target;
    const Transformer fresh(checkpoint.model.options(), Random(seed));
    Tensor moved = fresh.tgt_embed.table.value.clone();
    moved *= -1;
    moved += checkpoint.model.tgt_embed.table.value;
    Tensor cosines({words.size(), words.size()});
    for (Index i = 0; i < words.size(); ++i)
        for (Index j = 0; j < words.size(); ++j)
            cosines(i, j) = static_cast<Real>(cosine(moved.rows(i, i + 1), moved.rows(j, j + 1)));
    for (const char* word : {"he", "likes", "teachers"}) {
        const Index i = words.id(word);
        Index nearest = i == 3 ? 4 : 3;  // 0 to 2 are symbols
        for (Index j = 3; j < words.size(); ++j)
            if (j != i && cosines(i, j) > cosines(i, nearest)) nearest = j;
        const std::string& like = words.word(static_cast<std::int32_t>(nearest));
        results.set_varying(fmt::format("{}_like", word), like);
        results.set_varying(fmt::format("{}_cosine", word), cosines(i, nearest));
    }
    results.array("word_cosines", cosines);
    results.set("words", join_words(words.words()));
}
// [order]
/// Translates a sentence and its reverse, neither of which was trained, and keeps where the decoder
/// looks for each word.
void show_order(const GreedyTranslator& translator, const std::string& name, Results& results) {
    for (const auto& [key, line] : {std::pair("one", "这 个 老 师 喜 欢 这 个 学 生"),
                                    {"other", "这 个 学 生 喜 欢 这 个 老 师"}}) {
        const Words source = split_words(line);
        const Translation said = translator.translate(source);
        Words words = translator.words(said);
        fmt::print("{} -> {}\n", line, join_words(words));
        results.set(fmt::format("{}{}_source", name, key), line);
        results.set(fmt::format("{}{}_answer", name, key), join_words(words));
        if (said.finished) words.emplace_back(end_word);
        results.set(fmt::format("{}{}_says", name, key), join_words(words));
        const Tensor& cross = said.weights.decoder.back().cross;  // [1, H, t, Ls]
        results.array(fmt::format("{}{}_cross", name, key),
                      cross.reshape({cross.dim(1), cross.dim(2), cross.dim(3)}));
    }
}
// [units]
/// The hidden units of the encoder's first feed-forward network, over the held-out sentences: the
/// share of them that is on, and the mean of each unit for each word of the source.
void keep_units(const GreedyTranslator& translator, const Corpus& corpus, Results& results) {
    const Transformer& model = translator.checkpoint.model;
    const EncoderLayer& layer = model.encoder.layers.front();
    const Vocabulary& words = translator.checkpoint.source;
    const Index units = model.options().layer.d_ff;
    Tensor sums = Tensor::zeros({words.size(), units});
    std::vector<Index> counts(static_cast<std::size_t>(words.size()));
    Index on = 0, all = 0;
    for (const SentencePair& pair : corpus.held_out) {
        const Ids src = translator.ids(pair.source);
        const Tensor x = model.src_positions.forward(model.src_embed.forward(src));
        const Tensor h1 = layer.norm1.before(x);
        const Tensor f1 = layer.self_attn.forward(h1, h1, h1, model.source_mask(src, src));
        FeedForward::Cache cache;  // of this part alone: a cache turns dropout on elsewhere
        layer.ff.forward(layer.norm2.before(layer.norm1.after(x, f1)), &cache);
        const Tensor& hidden = cache.hidden;  // [1, L, d_ff]
        for (Index i = 0; i < src.size(); ++i) {
            const std::int32_t word = src(0, i);
            ++counts[static_cast<std::size_t>(word)];
            for (Index u = 0; u < units; ++u) {
                sums(word, u) += hidden(0, i, u);
                on += hidden(0, i, u) > 0;
            }
        }
        all += src.size() * units;
    }
    for (Index w = 0; w < words.size(); ++w)
        for (Index u = 0; u < units; ++u)
            sums(w, u) /=
                static_cast<Real>(std::max<Index>(1, counts[static_cast<std::size_t>(w)]));
    results.array("units", sums);
    results.set("source_words", join_words(words.words()));
    results.set_varying("units_on", static_cast<double>(on) / static_cast<double>(all));
}
// [lens]
/// What would the last map say if it read a word's vector after an earlier layer of the decoder?
void show_lens(const GreedyTranslator& translator, const Ids& src, const Ids& read,
               const Translation& said, Results& results) {
    const Transformer& model = translator.checkpoint.model;
    const Vocabulary& words = translator.checkpoint.target;
    Vectors y = decoder_vectors(model, src, read);
    if (const auto& norm = model.decoder.norm)  // with pre-norm, the last map reads its result
        for (Tensor& vectors : y) vectors = norm->forward(vectors);
    Tensor lens({static_cast<Index>(y.size()), read.size()});
    for (std::size_t l = 0; l < y.size(); ++l) {
        const Tensor p = softmax(model.output.forward(y[l]));  // [1, t, tgt_words]
        const auto likeliest = argmax(model.output.forward(y[l]));
        std::string sentence;
        for (Index t = 0; t < read.size(); ++t) {
            const bool ends = t == static_cast<Index>(said.ids.size());
            const std::int32_t right =
                ends ? translator.options.end : said.ids[static_cast<std::size_t>(t)];
            sentence += (t == 0 ? "" : " ") + words.word(likeliest(0, t).word);
            lens(static_cast<Index>(l), t) = p(0, t, right);
        }
        fmt::print("after layer {}: {}\n", l, sentence);
    }
    results.array("lens", lens);
}

}  // namespace
// [inside]
void show_inside(const GreedyTranslator& translator, const GreedyTranslator& without,
                 const Corpus& corpus, std::uint64_t seed, Results& results) {
    const Transformer& model = translator.checkpoint.model;
    const Words sentence = split_words("你 认 识 两 个 老 师 吗");
    const Ids src = translator.ids(sentence);
    const Translation said = translator.translate(sentence);
    Ids read({1, static_cast<Index>(said.probabilities.size())});
    read(0, 0) = translator.options.start;
    std::copy_n(said.ids.begin(), read.size() - 1, read.values().begin() + 1);
    Words rows = translator.words(said);
    if (said.finished) rows.emplace_back(end_word);

    fmt::print("{} -> {}\n", join_words(sentence), join_words(translator.words(said)));
    results.set("source", join_words(sentence));
    results.set("says", join_words(rows));
    Transformer::AttentionWeights weights;
    model.forward(src, read, nullptr, &weights);
    results.array("heads", weights.encoder.front());       // [1, H, Ls, Ls]
    results.array("cross", weights.decoder.back().cross);  // [1, H, t, Ls]

    keep_first_maps(model.options(), src, seed, results);
    keep_words(translator.checkpoint, seed, results);
    keep_units(translator, corpus, results);
    section("Who likes whom");
    show_order(translator, "", results);
    section("Who likes whom, without position codes");
    show_order(without, "without_", results);
    section("The next word, layer by layer");
    show_lens(translator, src, read, said, results);
}

}  // namespace abh
