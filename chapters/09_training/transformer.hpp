#pragma once

#include <string>
#include <vector>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "chapters/08_decoder/decoder.hpp"

namespace abh {
// [tied]
/// Which of the three tables of words are one: the source's, the target's, and the last map's.
enum class Tied {
    none,    ///< three tables
    target,  ///< the target's table is the last map's weight
    all,     ///< all three are one; both languages have one vocabulary
};
// [options]
/// A whole encoder-decoder Transformer.
struct TransformerOptions {
    Index src_words = 0;  ///< size of the source vocabulary
    Index tgt_words = 0;  ///< size of the target vocabulary
    Index n_encoder_layers = 6;
    Index n_decoder_layers = 6;
    LayerOptions layer;
    EmbeddingOptions embedding;  ///< of both languages
    PositionalEncodingOptions positions;
    bool output_bias = true;
    std::int32_t pad = 0;          ///< id of the padding symbol in both vocabularies
    bool mask_target_pads = true;  ///< false: the decoder's self-attention hides the future only
    Tied tied = Tied::none;

    /// The Chinese-English toy: no biases, a norm without gamma and beta.
    static TransformerOptions toy();
    /// The German-English notebook, its empty sections filled in: biases, an affine norm, sinusoid
    /// positions with dropout 0.1, and the toy's sizes.
    static TransformerOptions notebook();
    /// The architecture article: scaled embeddings, sinusoid positions, dropout 0.1 there and in
    /// the sublayers; sizes of the paper, 1,000 words a language.
    static TransformerOptions article();
    /// The block with one small projection that all heads share: d_model 256, learned positions,
    /// masks that leave the target's pads visible.
    static TransformerOptions shared_heads();
};
// [options as json]
/// All options as a JSON object, a field a line. @throws std::invalid_argument if one is not finite
std::string to_json(const TransformerOptions& options);
/// The options that `to_json` wrote.
/// @throws std::invalid_argument if the text is not JSON, or naming a field that is missing,
///         unknown, there twice, or of another type
TransformerOptions transformer_options(const std::string& text);
// [first rows]
/// How many rows of a larger batch stand before those of the batch that is computed: places of the
/// padded sources and targets, and the words that are left of them without pads.
struct FirstRows {
    Index source_places = 0, target_places = 0, source_words = 0, target_words = 0;
};
// [transformer]
/// The Transformer of Vaswani et al. 2017: embeddings, positions, encoder, decoder, and a linear
/// map to one score a target word.
class Transformer {
public:
    struct Cache {
        Embedding::Cache src_embed, tgt_embed;
        PositionalEncoding::Cache src_positions, tgt_positions;
        Encoder::Cache encoder;
        Decoder::Cache decoder;
        Linear::Cache output;
        Packed packed;
    };
    /// Of every layer.
    struct AttentionWeights {
        std::vector<Tensor> encoder;
        std::vector<DecoderLayer::AttentionWeights> decoder;
    };

    /// @throws std::invalid_argument if a size does not fit, or if one table is to serve
    /// vocabularies
    ///         of different sizes
    Transformer(const TransformerOptions& options, Random random);

    /// @param src      source ids `[B, Ls]`
    /// @param tgt      target ids `[B, Lt]`, shifted right: the start symbol, then the words
    /// @param cache    filled for `backward`; leave it out at inference, which turns dropout off
    /// @param weights  if given, receives all attention weights
    /// @return         logits `[B, Lt, tgt_words]`: row t scores the word after `tgt[.., 0..t]`
    Tensor forward(const Ids& src, const Ids& tgt, Cache* cache = nullptr,
                   AttentionWeights* weights = nullptr) const;
    /// Adds to the gradients of all parameters.
    /// @param dlogits  gradient of the loss with respect to the logits
    void backward(const Tensor& dlogits, const Cache& cache);
    // [transformer: all but the output]
    /// `forward` without the last linear map, for a loss that makes logits by itself.
    /// @param packed  if given, the pads of target (queries) and source (keys) that are left out of
    ///                all computation behind the positions
    /// @return        `[B, Lt, d_model]`, or packed; `output.forward` makes logits of it
    Tensor forward_hidden(const Ids& src, const Ids& tgt, Cache* cache = nullptr,
                          AttentionWeights* weights = nullptr, const Packed& packed = {}) const;
    /// Adds to the gradients of all parameters but those of `output`.
    /// @param dy         gradient of the loss with respect to the result of `forward_hidden`
    /// @param completed  if given, told of each layer when its gradients are complete
    void backward_hidden(const Tensor& dy, const Cache& cache, const Completed& completed = {});
    // [transformer: halves]
    /// The encoder's half of `forward_hidden`. @return memory `[B, Ls, d_model]`, or packed
    Tensor encode(const Ids& src, Cache* cache = nullptr, AttentionWeights* weights = nullptr,
                  const Packing& packing = {}) const;
    /// The decoder's half; `src` tells which words of the source are pads.
    Tensor decode(const Ids& tgt, const Tensor& memory, const Ids& src, Cache* cache = nullptr,
                  AttentionWeights* weights = nullptr, const Packed& packed = {}) const;

    /// Hides the pads of the source.
    AttentionMask source_mask(const Ids& src) const;
    /// Hides the future, and the pads of the target where the options say so.
    AttentionMask target_mask(const Ids& tgt) const;

    /// In the order in which forward uses them. A table that is shared is listed once, under its
    /// first name.
    /// @throws std::logic_error if tables that are to be one no longer share their elements
    void collect(Parameters& list, const std::string& name);
    const TransformerOptions& options() const { return options_; }
    Random& random() { return random_; }
    /// The batches from here on are parts of larger ones, whose rows they are from these on:
    /// dropout then draws for an element what it would draw in the larger batch.
    /// @throws std::invalid_argument if a row's numbers do not begin with a block of four
    void begin_at(const FirstRows& rows);

private:
    void tie();
    bool tables_are_tied() const;

    /// Blocks of random numbers before those of a batch.
    struct FirstBlocks {
        using Block = std::shared_ptr<std::uint64_t>;
        Block source_places = std::make_shared<std::uint64_t>(0);
        Block target_places = std::make_shared<std::uint64_t>(0);
        Block source_words = std::make_shared<std::uint64_t>(0);
        Block target_words = std::make_shared<std::uint64_t>(0);
    };

    TransformerOptions options_;
    FirstBlocks first_;
    Random random_;

public:
    Embedding src_embed, tgt_embed;
    PositionalEncoding src_positions, tgt_positions;
    Encoder encoder;
    Decoder decoder;
    Linear output;
};

}  // namespace abh
