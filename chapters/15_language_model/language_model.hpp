#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "chapters/15_language_model/block.hpp"

namespace abh {
// [stack]
struct StackOptions {
    Index words = 0;  ///< size of the vocabulary
    Index n_layers = 5;
    LayerOptions layer = {};
    EmbeddingOptions embedding = {};
    PositionalEncodingOptions positions = {};
    bool tied = false;  ///< the last map's weight is the table
};

/// A language model of chapters 1 to 9: a stack that only continues text. Without cross-attention,
/// a decoder layer is an encoder layer whose mask hides the future.
class Stack {
public:
    struct Cache {
        Embedding::Cache embed;
        PositionalEncoding::Cache positions;
        Encoder::Cache layers;
        Packing packing;
    };

    Stack(const StackOptions& options, Random random);

    /// Computes all but the last map, which is a part of the loss.
    /// @param text     `[B, L]`, or without pads
    /// @param cache    filled for `backward`; leave it out at inference, which turns dropout off
    /// @param weights  if given, receives the attention weights `[B, H, L, L]` of every layer
    /// @return         `[B, L, d_model]`, or `[1, rows, d_model]`; row t depends only on words 0..t
    Tensor forward(const Sentences& text, Cache* cache = nullptr,
                   std::vector<Tensor>* weights = nullptr) const;
    /// Adds to the gradients of all layers but `output`.
    void backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);
    Random& random() { return random_; }

private:
    bool tied_;
    Random random_;

public:
    Embedding embed;
    PositionalEncoding positions;
    Encoder layers;
    Linear output;
};
// [llama]
struct LlamaOptions {
    Index words = 0;  ///< size of the vocabulary
    Index n_layers = 5;
    BlockOptions block = {};
    bool positions = true;  ///< without rotary ones, the sinusoid is added to the vectors
    bool tied = false;      ///< the last map's weight is the table
    Index context = 512;    ///< the longest text
};

/// The same with the parts of today: norms before the sublayers and at the end, and positions that
/// are angles inside of attention.
class Llama {
public:
    struct Cache {
        Embedding::Cache embed;
        PositionalEncoding::Cache positions;
        std::vector<Block::Cache> blocks;
        Block::Norm::Cache norm;
        Packing packing;
    };

    Llama(const LlamaOptions& options, Random random);

    /// As of `Stack`.
    Tensor forward(const Sentences& text, Cache* cache = nullptr,
                   std::vector<Tensor>* weights = nullptr) const;
    void backward(const Tensor& dy, const Cache& cache);
    /// The table's rows for these words, `[B, L, d_model]`.
    Tensor vectors(const Ids& ids, Embedding::Cache* cache = nullptr) const;

    void collect(Parameters& list, const std::string& name);
    const LlamaOptions& options() const { return options_; }
    /// For a loader, which changes the numbers of words and layers to those of its file.
    void set_options(const LlamaOptions& options) { options_ = options; }
    Random& random() { return random_; }

private:
    LlamaOptions options_;
    Random random_;

public:
    Embedding embed;
    std::optional<PositionalEncoding> positions;  ///< without rotary positions only
    std::vector<Block> blocks;
    Block::Norm norm;
    Linear output;
};

}  // namespace abh
