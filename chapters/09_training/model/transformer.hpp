#pragma once

#include <string>
#include <vector>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/03_masks/packing.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "chapters/08_decoder/decoder.hpp"

namespace abh {
// [tied]
/// Which of three tables of words, the source's, the target's and the last map's, are the same.
enum class Tied {
    none,    ///< three tables
    target,  ///< the target's table is the last map's weight
    all,     ///< all three are one; both languages have one vocabulary
};
// [options]
/// The options of a whole encoder-decoder Transformer.
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
    /// The German-English notebook, with its empty sections filled in: biases, an affine norm,
    /// sinusoid positions with dropout 0.1, and the toy's sizes.
    static TransformerOptions notebook();
    /// The architecture article: scaled embeddings, sinusoid positions, dropout 0.1 there and in
    /// the sublayers, the paper's sizes, and 1,000 words per language.
    static TransformerOptions article();
    /// The block with one small projection that all heads share: d_model 256, learned positions,
    /// masks that leave the target's pads visible.
    static TransformerOptions shared_heads();
};
// [options as json]
/// All options as a JSON object, one field per line.
/// @throws std::invalid_argument if a number is not finite
std::string to_json(const TransformerOptions& options);
/// The options that `to_json` wrote.
/// @throws std::invalid_argument if the text is not a JSON object, or naming a field that is
///         missing, unknown, given twice, or holds a value that it cannot have
TransformerOptions transformer_options(const std::string& text);
// [transformer]
/// The Transformer of Vaswani et al. 2017: embeddings, positions, encoder, decoder, and a linear
/// map to one score per target word.
class Transformer {
public:
    struct Cache {
        Embedding::Cache src_embed, tgt_embed;
        PositionalEncoding::Cache src_positions, tgt_positions;
        Encoder::Cache encoder;
        Decoder::Cache decoder;
        Packing src, tgt;  ///< if pads are left out
    };
    /// The attention weights of every layer.
    struct AttentionWeights {
        std::vector<Tensor> encoder;
        std::vector<DecoderLayer::AttentionWeights> decoder;
    };

    /// @throws std::invalid_argument if a size does not fit, or if vocabularies of different sizes
    ///         are to share a table
    Transformer(const TransformerOptions& options, Random random);

    /// Computes all but the last map, which is a part of the loss: `vocabulary_loss`.
    /// @param src      source words `[B, Ls]`, or without their pads
    /// @param tgt      target words `[B, Lt]`, shifted right: the start symbol, then the words;
    ///                 without pads if the source is
    /// @param cache    filled for `backward`; leave it out at inference, which turns dropout off
    /// @param weights  if given, receives all attention weights
    /// @return         `[B, Lt, d_model]`, or `[1, rows, d_model]` without pads; of the target,
    ///                 row t depends only on `tgt[.., 0..t]`
    Tensor forward(const Sentences& src, const Sentences& tgt, Cache* cache = nullptr,
                   AttentionWeights* weights = nullptr) const;
    /// Adds to the gradients of all layers but `output`.
    /// @param dy  gradient of the loss with respect to the result of `forward`
    void backward(const Tensor& dy, const Cache& cache);
    /// `output.forward(forward(src, tgt))`.
    /// @return  logits `[B, Lt, tgt_words]`, or `[1, rows, tgt_words]` without pads: row t scores
    ///          the word after `tgt[.., 0..t]`
    Tensor logits(const Sentences& src, const Sentences& tgt) const;
    // [transformer: halves]
    /// The encoder's half of `forward`. @return memory `[B, Ls, d_model]`, or without pads
    Tensor encode(const Sentences& src, Cache* cache = nullptr,
                  AttentionWeights* weights = nullptr) const;
    /// The decoder's half; `src` tells which words of the source are pads.
    Tensor decode(const Sentences& tgt, const Tensor& memory, const Sentences& src,
                  Cache* cache = nullptr, AttentionWeights* weights = nullptr) const;

    /// Hides the pads of the source from these queries.
    AttentionMask source_mask(const Sentences& src, const Sentences& queries) const;
    /// Hides the future, and also the pads of the target if the options say so.
    AttentionMask target_mask(const Sentences& tgt) const;

    /// Lists the parameters part by part, in the order in which `logits` uses the parts. A shared
    /// table is listed once, under its first name.
    /// @throws std::logic_error if tied tables no longer share their elements
    void collect(Parameters& list, const std::string& name);
    const TransformerOptions& options() const { return options_; }
    Random& random() { return random_; }

private:
    void tie();
    bool tables_are_tied() const;

    TransformerOptions options_;
    Random random_;

public:
    Embedding src_embed, tgt_embed;
    PositionalEncoding src_positions, tgt_positions;
    Encoder encoder;
    Decoder decoder;
    Linear output;
};

}  // namespace abh
