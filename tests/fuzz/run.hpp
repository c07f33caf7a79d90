#pragma once

// A run of training so small that its states are short.
#include "chapters/13_real_translation/practice/run_state.hpp"
#include "chapters/13_real_translation/practice/text_model.hpp"

namespace abh::fuzz {

/// The pieces of both languages.
inline const Subwords& pieces() {
    static const std::vector<std::string> sentences{"I have a good friend .", "I have no friend ."};
    static const Subwords subwords = Subwords::train(sentences, 30, false);
    return subwords;
}

struct Run {
    static constexpr const char* origin = R"({"training": {"rate": 0.5, "seed": 3}})";

    std::vector<IdPair> pairs{{pieces().encode("I have"), pieces().encode("no friend")},
                              {pieces().encode("a good"), pieces().encode("friend .")}};
    Transformer model{options(), Random(1)};
    TrainingRun run{
        model, pairs, {}, {.training = {.optimizer = "adam", .warmup = 5}, .tokens = 40}};

    static TransformerOptions options() {
        TransformerOptions o = TransformerOptions::toy();
        o.src_words = o.tgt_words = pieces().size();
        o.n_encoder_layers = o.n_decoder_layers = 1;
        o.layer.attention.d_model = 4;
        o.layer.attention.n_heads = 2;
        o.layer.attention.attention.scale = 1;
        o.layer.d_ff = 3;
        o.positions.max_len = 20;
        return o;
    }
    /// The run as a file has it, with all that a translation needs.
    TensorFile state() { return state_of(run, origin, model_notes(options(), pieces(), pieces())); }
};

}  // namespace abh::fuzz
