#include <algorithm>
#include <nlohmann/json.hpp>

#include "chapters/13_real_translation/marian/marian.hpp"
#include "chapters/13_real_translation/marian/marian_json.hpp"

namespace abh {
// [what must be so]
namespace {

using nlohmann::json;

/// Refuses options of Marian that change the result and that this book's model does not have. Older
/// versions of the library wrote some of them; the others say what it always computes.
void require_known(const Fields& f) {
    f.expect(f.value("model_type") == "marian", "model_type", "\"marian\"");
    f.expect_usual(true, {"is_encoder_decoder", "static_position_embeddings"});
    f.expect_usual(false,
                   {"is_decoder", "normalize_before", "normalize_embedding", "add_final_layer_norm",
                    "add_bias_logits", "force_bos_token_to_be_generated", "tie_encoder_decoder"});
    f.expect_usual("none", {"quantization_config", "pruned_heads", "auto_map"});
}

/// Refuses options, in either file, that change which words are said by rules that this book's
/// search does not have.
void require_known_search(const Fields& f) {
    f.expect_usual("none",
                   {"forced_bos_token_id", "forced_decoder_ids", "suppress_tokens",
                    "begin_suppress_tokens", "sequence_bias", "exponential_decay_length_penalty",
                    "min_new_tokens", "force_words_ids", "stop_strings", "guidance_scale"});
    f.expect_usual(0, {"no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_length",
                       "diversity_penalty"});
    f.expect_usual(1, {"repetition_penalty", "encoder_repetition_penalty", "num_beam_groups"});
    f.expect_usual(false, {"do_sample"});
}

Activation activation(const Fields& f) {
    constexpr const char* name = "activation_function";
    const json& found = f.value(name);
    f.expect(found == "relu" || found == "swish" || found == "silu", name, "relu, swish or silu");
    return found == "relu" ? Activation::relu : Activation::swish;
}

/// Which tables of words are shared. The library can also share the two embeddings but not the last
/// map's weight; our model then has three tables, two of them with the same numbers.
Tied tied(const Fields& f) {
    if (!f.flag("tie_word_embeddings", true)) return Tied::none;
    return f.flag("share_encoder_decoder_embeddings", true) ? Tied::all : Tied::target;
}

std::int32_t symbol(const Fields& f, const char* name, Index n_words) {
    return static_cast<std::int32_t>(f.number(name, 0, n_words - 1));
}

/// Adds words that may not be said. Refuses sequences of words, which the library can also forbid.
void add_never(const Fields& f, Index n_words, std::set<std::int32_t>& never) {
    constexpr const char* name = "bad_words_ids";
    if (!f.has(name)) return;
    const auto is_word = [&](const json& w) {
        return w.is_array() && w.size() == 1 && is_below(w[0], n_words);
    };
    f.expect(f.value(name).is_array() && std::ranges::all_of(f.value(name), is_word), name,
             "lists of one id below {} each", n_words);
    for (const json& word : f.value(name)) never.insert(word[0].get<std::int32_t>());
}

}  // namespace
// [read]
MarianConfig read_marian_config(const std::filesystem::path& folder) {
    const Fields f(folder / "config.json");
    require_known(f);
    MarianConfig config;
    const auto read_search = [&](const Fields& fields) {
        require_known_search(fields);
        config.renormalize = fields.flag("renormalize_logits", config.renormalize);
        add_never(fields, config.model.tgt_words, config.never);
    };
    TransformerOptions& o = config.model;
    o.src_words = f.number("vocab_size", 2, 10'000'000);
    o.tgt_words =
        f.has("decoder_vocab_size") ? f.number("decoder_vocab_size", 2, 10'000'000) : o.src_words;
    o.n_encoder_layers = f.number("encoder_layers", 1, 1000);
    o.n_decoder_layers = f.number("decoder_layers", 1, 1000);
    o.layer.attention.d_model = f.number("d_model", 1, 1 << 15);
    o.layer.attention.n_heads = f.same("encoder_attention_heads", "decoder_attention_heads", 1024);
    f.expect(o.layer.attention.d_model % o.layer.attention.n_heads == 0, "d_model",
             "a multiple of {}, the number of heads", o.layer.attention.n_heads);
    o.layer.d_ff = f.same("encoder_ffn_dim", "decoder_ffn_dim", 1 << 18);
    o.layer.activation = activation(f);
    o.embedding.scale = f.flag("scale_embedding", false);
    o.positions = {.kind = Positions::sines_then_cosines,
                   .max_len = f.number("max_position_embeddings", 2, 1 << 14)};
    o.tied = tied(f);
    if (o.tied == Tied::all)
        f.expect(o.tgt_words == o.src_words, "decoder_vocab_size", "{} as vocab_size", o.src_words);
    const Index both = std::min(o.src_words, o.tgt_words);
    o.pad = symbol(f, "pad_token_id", both);
    o.mask_target_pads = false;  // the start symbol is the pad
    config.start = symbol(f, "decoder_start_token_id", o.tgt_words);
    config.end = symbol(f, "eos_token_id", both);
    config.never = {o.pad};
    read_search(f);
    const Fields g = Fields::if_there(folder / "generation_config.json");
    read_search(g);
    for (const auto& [name, id] : {std::pair{"decoder_start_token_id", config.start},
                                   {"eos_token_id", config.end},
                                   {"pad_token_id", o.pad}})
        if (g.has(name))
            g.expect(symbol(g, name, o.tgt_words) == id, name, "{} as in config.json", id);
    return config;
}

}  // namespace abh
