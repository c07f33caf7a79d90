#pragma once

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/08_decoder/decoder.hpp"

namespace abh {
// [translator]
/// Everything between the toy's ids and the decoder's output, with random weights.
struct Translator {
    Embedding source_words, target_words;
    PositionalEncoding source_positions, target_positions;
    Encoder encoder;
    Decoder decoder;

    Translator(Index n_layers, Random& random)
        : source_words(11, 512, {}, random),
          target_words(12, 512, {}, random),
          source_positions(512, {.max_len = 100}, random),
          target_positions(512, {.max_len = 100}, random),
          encoder(toy_layer(), n_layers, random),
          decoder(toy_layer(), n_layers, random) {}

    /// The encoder's output.
    Tensor memory(const Ids& ids, const AttentionMask& mask) const {
        return encoder.forward(source_positions.forward(source_words.forward(ids)), mask);
    }
    Tensor vectors(const Ids& ids) const {
        return target_positions.forward(target_words.forward(ids));
    }
};

}  // namespace abh
