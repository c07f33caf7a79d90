#include <algorithm>
#include <nlohmann/json.hpp>

#include "chapters/13_real_translation/marian/marian.hpp"
#include "chapters/13_real_translation/marian/marian_json.hpp"

namespace abh {
// [values]
namespace {

using nlohmann::json;

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

/// Adds words that may not be said, and leaves out the end, as the library does. Refuses sequences
/// of words, which it can also forbid.
void add_never(const Fields& f, Index n_words, std::int32_t end, std::set<std::int32_t>& never) {
    constexpr const char* name = "bad_words_ids";
    if (!f.has(name)) return;
    const auto is_word = [&](const json& w) {
        return w.is_array() && w.size() == 1 && is_below(w[0], n_words);
    };
    f.expect(f.value(name).is_array() && std::ranges::all_of(f.value(name), is_word), name,
             "lists of one id below {} each", n_words);
    for (const json& word : f.value(name))
        if (const auto id = word[0].get<std::int32_t>(); id != end) never.insert(id);
}

Stopping stopping(const Fields& f) {
    constexpr const char* name = "early_stopping";
    const json& found = f.value(name);
    f.expect(found.is_boolean() || found == "never", name, "true, false or \"never\"");
    if (found == "never") return Stopping::proven;
    return found == true ? Stopping::full : Stopping::usual;
}
// [search]
/// Reads what the folder says about the search. `f` is generation_config.json, or config.json if
/// there is no such file.
void read_search(const Fields& f, MarianConfig& config) {
    f.require_usual("generation_config.json");
    const Index n_words = config.model.tgt_words;
    for (const auto& [name, id] : {std::pair{"decoder_start_token_id", config.search.start},
                                   {"eos_token_id", config.search.end},
                                   {"pad_token_id", config.model.pad}})
        if (f.has(name)) f.expect(symbol(f, name, n_words) == id, name, "{} as in config.json", id);
    config.renormalize = f.flag("renormalize_logits", false);
    BeamOptions& search = config.search;
    add_never(f, n_words, search.end, search.never);
    if (f.has("num_beams")) search.beam = f.number("num_beams", 1, 1000);
    if (f.has("max_length"))  // the start symbol counts there
        search.max_words = f.number("max_length", 2, 100'001) - 1;
    if (f.has("max_new_tokens")) search.max_words = f.number("max_new_tokens", 1, 100'000);
    if (f.has("early_stopping")) search.stopping = stopping(f);
    if (constexpr const char* name = "length_penalty"; f.has(name)) {
        const json& found = f.value(name);
        f.expect(found.is_number() && found >= 0 && found <= 100, name, "a number from 0 to 100");
        search.length_penalty = found.get<Real>();
    }
}

}  // namespace
// [read]
MarianConfig read_marian_config(const std::filesystem::path& folder) {
    const Fields f(folder / "config.json");
    f.expect(f.value("model_type") == "marian", "model_type", "\"marian\"");
    f.require_usual("config.json");
    MarianConfig config;
    TransformerOptions& o = config.model;
    o.src_words = f.number("vocab_size", 2, 10'000'000);
    o.tgt_words =
        f.has("decoder_vocab_size") ? f.number("decoder_vocab_size", 2, 10'000'000) : o.src_words;
    o.n_encoder_layers = f.number("encoder_layers", 1, 1000);
    o.n_decoder_layers = f.number("decoder_layers", 1, 1000);
    for (const auto& [other, name] : {std::pair{"num_hidden_layers", "encoder_layers"},
                                      {"hidden_size", "d_model"},
                                      {"num_attention_heads", "encoder_attention_heads"}})
        if (f.has(other)) f.same(name, other, 1 << 15);
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
    config.search.start = symbol(f, "decoder_start_token_id", o.tgt_words);
    config.search.end = symbol(f, "eos_token_id", both);
    config.search.never = {o.pad};
    const std::filesystem::path search = folder / "generation_config.json";
    read_search(std::filesystem::exists(search) ? Fields(search) : f, config);
    return config;
}

}  // namespace abh
