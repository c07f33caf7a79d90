#include "chapters/10_greedy_decoding/greedy_decoding.hpp"

#include <algorithm>
#include <utility>

#include "chapters/09_training/loss/argmax.hpp"
#include "chapters/10_greedy_decoding/incremental_decoder.hpp"

namespace abh {
// [check]
namespace {

void check(const Transformer& model, const Ids& src, const DecodingOptions& options) {
    require(src.rank() == 2 && src.dim(0) >= 1 && src.dim(1) >= 1,
            "greedy decoding: src has shape {}, expected [B, Ls] with both >= 1", src.shape());
    require(src.dim(1) <= model.src_positions.max_len(),
            "greedy decoding: the sentence has {} words, but the model takes at most {}",
            src.dim(1), model.src_positions.max_len());
    require(options.max_words >= 1, "greedy decoding: max_words is {}, expected at least 1",
            options.max_words);
    require(options.start != model.options().pad || !model.options().mask_target_pads,
            "greedy decoding: start symbol {} is padding, which the decoder hides", options.start);
}

/// The number of words after which we stop. The model's positions limit it, because each word that
/// the model reads needs one.
Index limit(const Transformer& model, const DecodingOptions& options) {
    return std::min(options.max_words, model.tgt_positions.max_len());
}
// [choose]
/// Appends a word. Returns false at the end symbol.
bool append(const Prediction& choice, const DecodingOptions& options, Translation& result) {
    const auto [word, probability] = choice;
    result.probabilities.push_back(probability);
    result.finished = word == options.end;
    if (!result.finished) result.ids.push_back(word);
    return !result.finished;
}
// [passes]
/// What the decoder reads: the start symbol and the words said so far, `[1, t]`.
Ids prefix_of(std::int32_t start, const std::vector<std::int32_t>& said) {
    Ids prefix({1, static_cast<Index>(said.size()) + 1});
    prefix(0, 0) = start;
    std::copy(said.begin(), said.end(), prefix.values().begin() + 1);
    return prefix;
}

/// The model as decoding asks it.
struct Passes {
    const Transformer& model;
    Transformer::Cache* training;            ///< if given, dropout is on; nobody reads it
    Transformer::AttentionWeights* weights;  ///< if given, receives those of the last pass

    Tensor encode(const Ids& src) const { return model.encode(src, training, weights); }
    Tensor logits(const Ids& prefix, const Tensor& memory, const Ids& src) const {
        return model.output.forward(model.decode(prefix, memory, src, training, weights));
    }
};
// [greedy]
/// One pass per word, until the end symbol comes or there are `max_words` words.
Translation say(const Passes& model, const Ids& src, const DecodingOptions& options) {
    Translation said;
    const Tensor memory = model.encode(src);  // [1, Ls, d_model], once
    do {
        const Ids prefix = prefix_of(options.start, said.ids);    // [1, t]: S and the words said
        const Tensor logits = model.logits(prefix, memory, src);  // [1, t, V]
        const Prediction next = argmax(logits).values().back();   // of the last row
        if (!append(next, options, said)) break;                  // E
    } while (static_cast<Index>(said.ids.size()) < options.max_words);
    return said;
}
// [around]
}  // namespace

Translation greedy_decode(const Transformer& model, const Ids& src, const DecodingOptions& options,
                          bool with_weights) {
    check(model, src, options);
    require(src.dim(0) == 1, "greedy decoding: src has shape {}, expected [1, Ls]", src.shape());
    Transformer::Cache cache;
    Transformer::AttentionWeights weights;
    const Passes passes{model, options.dropout ? &cache : nullptr,
                        with_weights ? &weights : nullptr};
    DecodingOptions within = options;
    within.max_words = limit(model, options);
    Translation result = say(passes, src, within);
    result.weights = std::move(weights);
    return result;
}
// [cached: greedy]
std::vector<Translation> greedy_decode_cached(const Transformer& model, const Ids& src,
                                              const DecodingOptions& options) {
    check(model, src, options);
    require(!options.dropout, "greedy decoding: dropout cannot stay on with a key-value cache");
    std::vector<Translation> results(static_cast<std::size_t>(src.dim(0)));
    std::vector<std::int32_t> words(results.size(), options.start);
    IncrementalDecoder decoder(model, src);
    for (Index t = 0; t < limit(model, options) && !words.empty(); ++t) {
        const BasicTensor<Prediction> choices = argmax(decoder.next(words));  // [n, 1]
        std::vector<std::int32_t> going_on;
        words.clear();
        for (std::size_t i = 0; i < decoder.sentences().size(); ++i) {
            const std::int32_t sentence = decoder.sentences()[i];
            const Prediction& choice = choices.values()[i];
            if (!append(choice, options, results[static_cast<std::size_t>(sentence)])) continue;
            going_on.push_back(static_cast<std::int32_t>(i));
            words.push_back(choice.word);
        }
        decoder.select(going_on);
    }
    return results;
}
// [cost]
Index decoder_multiply_adds(const TransformerOptions& o, Index src_words, Index words,
                            bool cached) {
    const MultiHeadOptions& a = o.layer.attention;
    const Index d = a.d_model;
    const Index projection =
        a.shared_head_projections ? d * d / a.n_heads : d * d;  // q, k or v of one row
    const Index row =
        4 * projection + 2 * d * d + 2 * d * o.layer.d_ff;  // all linear maps of one row
    const Index memory = 2 * projection * src_words;        // cross keys and values
    Index layer = cached ? memory : 0, output = 0;
    for (Index t = 1; t <= words; ++t) {
        const Index rows = cached ? 1 : t;
        layer += rows * (row + 2 * d * (t + src_words)) + (cached ? 0 : memory);
        output += rows * d * o.tgt_words;
    }
    return o.n_decoder_layers * layer + output;
}

}  // namespace abh
