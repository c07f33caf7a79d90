#include "chapters/10_greedy_decoding/greedy_decoding.hpp"

#include <algorithm>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/10_greedy_decoding/incremental_decoder.hpp"
#include "lib/eigen.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [check]
namespace {

void check(const Transformer& model, const Ids& src, const DecodingOptions& options) {
    require(src.rank() == 2 && src.dim(0) >= 1 && src.dim(1) >= 1,
            "greedy decoding: src has shape {}, expected [B, Ls] with both >= 1", src.shape());
    require(src.dim(1) <= model.src_positions.max_len(),
            "greedy decoding: the sentence has {} words, the model takes at most {}", src.dim(1),
            model.src_positions.max_len());
    require(options.max_words >= 1, "greedy decoding: max_words is {}, expected at least 1",
            options.max_words);
    require(options.start != model.options().pad || !model.options().mask_target_pads,
            "greedy decoding: start symbol {} is padding, which the decoder hides", options.start);
}

/// The number of words after which we stop: the model has a position for each word that it reads.
Index limit(const Transformer& model, const DecodingOptions& options) {
    return std::min(options.max_words, model.tgt_positions.max_len());
}
// [choose]
/// Appends a word. Returns false at the end symbol.
bool append(std::int32_t word, Real probability, const DecodingOptions& options,
            Translation& result) {
    result.probabilities.push_back(probability);
    result.finished = word == options.end;
    if (!result.finished) result.ids.push_back(word);
    return !result.finished;
}

/// Appends the likeliest word of the last row of `logits`. Returns false at the end symbol.
bool append_likeliest(const Tensor& logits, const DecodingOptions& options, Translation& result) {
    const Tensor p = softmax(logits);  // [1, t, tgt_words]
    const auto row = p.values().last(static_cast<std::size_t>(logits.dim(2)));
    const auto best = std::max_element(row.begin(), row.end());
    return append(static_cast<std::int32_t>(best - row.begin()), *best, options, result);
}

}  // namespace
// [greedy]
Translation greedy_decode(const Transformer& model, const Ids& src, const DecodingOptions& options,
                          bool with_maps) {
    check(model, src, options);
    require(src.dim(0) == 1, "greedy decoding: src has shape {}, expected [1, Ls]", src.shape());
    Transformer::Cache cache;  // never read: a layer drops out where it is given a cache
    Transformer::Cache* const training = options.dropout ? &cache : nullptr;
    Translation result;
    Transformer::Maps* const maps = with_maps ? &result.maps : nullptr;

    const Tensor memory = model.encode(src, training, maps);  // [1, Ls, d_model]
    do {
        Ids prefix({1, static_cast<Index>(result.ids.size()) + 1});  // [1, t]
        prefix(0, 0) = options.start;
        std::copy(result.ids.begin(), result.ids.end(), prefix.data() + 1);
        const Tensor logits = model.decode(prefix, memory, src, training, maps);
        if (!append_likeliest(logits, options, result)) break;
    } while (static_cast<Index>(result.ids.size()) < limit(model, options));
    return result;
}
// [cached: likeliest]
namespace {

struct Choice {
    std::int32_t word;
    Real probability;
};

/// The likeliest word of each row: softmax, but the other words' probabilities are only summed.
std::vector<Choice> likeliest(const Tensor& logits) {  // [n, 1, tgt_words]
    const Timed timed("likeliest");
    const Index words = logits.dim(2);
    std::vector<Choice> choices(static_cast<std::size_t>(logits.dim(0)));
    parallel_ranges(logits.dim(0), std::max<Index>(1, (1 << 13) / words), [&](Index i, Index end) {
        for (; i < end; ++i) {
            const auto row = matrix(logits).row(i).array();
            const Real largest = row.maxCoeff();
            const Real* const begin = logits.data() + i * words;
            const Real* const best =
                std::find_if(begin, begin + words - 1, [&](Real z) { return !(z < largest); });
            choices[static_cast<std::size_t>(i)] = {static_cast<std::int32_t>(best - begin),
                                                    1 / (row - largest).exp().sum()};
        }
    });
    return choices;
}

}  // namespace
// [cached: greedy]
std::vector<Translation> greedy_decode_cached(const Transformer& model, const Ids& src,
                                              const DecodingOptions& options) {
    check(model, src, options);
    require(!options.dropout, "greedy decoding: dropout cannot stay on with a key-value cache");
    std::vector<Translation> results(static_cast<std::size_t>(src.dim(0)));
    std::vector<std::int32_t> words(results.size(), options.start);
    IncrementalDecoder decoder(model, src);
    for (Index t = 0; t < limit(model, options) && !words.empty(); ++t) {
        const std::vector<Choice> choices = likeliest(decoder.next(words));
        std::vector<Index> going_on;
        words.clear();
        for (std::size_t i = 0; i < choices.size(); ++i) {
            const Index sentence = decoder.sentences()[i];
            const auto [word, probability] = choices[i];
            if (!append(word, probability, options, results[static_cast<std::size_t>(sentence)]))
                continue;
            going_on.push_back(sentence);
            words.push_back(word);
        }
        decoder.keep(going_on);
    }
    return results;
}
// [cost]
Index decoder_multiply_adds(const TransformerOptions& o, Index src_words, Index words,
                            bool cached) {
    const MultiHeadOptions& a = o.layer.attention;
    const Index d = a.d_model;
    const Index map = a.shared_head_maps ? d * d / a.n_heads : d * d;  // q, k or v of one row
    const Index row = 4 * map + 2 * d * d + 2 * d * o.layer.d_ff;      // all maps of one row
    const Index memory = 2 * map * src_words;                          // cross keys and values
    Index layer = cached ? memory : 0, output = 0;
    for (Index t = 1; t <= words; ++t) {
        const Index rows = cached ? 1 : t;
        layer += rows * (row + 2 * d * (t + src_words)) + (cached ? 0 : memory);
        output += rows * d * o.tgt_words;
    }
    return o.n_decoder_layers * layer + output;
}

}  // namespace abh
