#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "chapters/15_language_model/published_model.hpp"
#include "lib/io/files.hpp"
#include "lib/io/text.hpp"

namespace abh {
namespace {

using nlohmann::json;

// [names]
using Names = std::pair<std::string_view, std::string_view>;

/// The same field in config.json and in GGUF.
constexpr Names same_field[] = {{"vocab_size", "llama.vocab_size"},
                                {"hidden_size", "llama.embedding_length"},
                                {"num_hidden_layers", "llama.block_count"},
                                {"num_attention_heads", "llama.attention.head_count"},
                                {"num_key_value_heads", "llama.attention.head_count_kv"},
                                {"head_dim", "llama.rope.dimension_count"},
                                {"intermediate_size", "llama.feed_forward_length"},
                                {"rms_norm_eps", "llama.attention.layer_norm_rms_epsilon"},
                                {"rope_theta", "llama.rope.freq_base"},
                                {"max_position_embeddings", "llama.context_length"},
                                {"eos_token_id", "tokenizer.ggml.eos_token_id"}};
// [names: json only]
/// Fields of config.json that must have this value, because nothing else is built.
constexpr Names only[] = {
    {"model_type", "\"llama\""}, {"hidden_act", "\"silu\""},      {"attention_bias", "false"},
    {"mlp_bias", "false"},       {"rope_scaling", "null"},        {"rope_interleaved", "false"},
    {"sliding_window", "null"},  {"quantization_config", "null"}, {"pretraining_tp", "1"}};
/// Fields that change nothing about what the model computes.
constexpr const char* no_effect[] = {
    "architectures",     "attention_dropout",      "bos_token_id",         "dtype",
    "initializer_range", "is_llama_config",        "pad_token_id",         "tie_word_embeddings",
    "torch_dtype",       "transformers.js_config", "transformers_version", "use_cache",
    "_name_or_path"};
// [names: gguf only]
/// Notes of GGUF that are read, beside those above and `general.*`, which only describe.
constexpr const char* other_notes[] = {"tokenizer.ggml.model",
                                       "tokenizer.ggml.pre",
                                       "tokenizer.ggml.tokens",
                                       "tokenizer.ggml.token_type",
                                       "tokenizer.ggml.merges",
                                       "tokenizer.ggml.add_bos_token",
                                       "tokenizer.ggml.add_space_prefix",
                                       "tokenizer.ggml.bos_token_id",
                                       "tokenizer.ggml.unknown_token_id",
                                       "tokenizer.ggml.padding_token_id",
                                       "tokenizer.chat_template"};

void refuse_others(const std::map<std::string, Note>& notes) {
    for (const auto& [name, held] : notes)
        require(name.starts_with("general.") || std::ranges::count(other_notes, name) ||
                    std::ranges::count(same_field, name, &Names::second),
                "it has the note {}, which is not built here", name);
}
// [values]
Index number(const std::map<std::string, Note>& notes, const std::string& name, Index most) {
    const auto n = note<std::int64_t>(notes, name);
    require(n >= 1 && n <= most, "{} is {}, expected 1 to {}", name, n, most);
    return n;
}

}  // namespace
// [options]
LlamaOptions published_options(const std::map<std::string, Note>& notes, bool tied,
                               Pairing pairing) {
    refuse_others(notes);
    constexpr Index most = 1 << 20;
    const std::string llama = "llama.", heads = llama + "attention.head_count";
    LlamaOptions o{.words = number(notes, llama + "vocab_size", most),
                   .n_layers = number(notes, llama + "block_count", 10'000),
                   .tied = tied,
                   .context = number(notes, llama + "context_length", 1 << 24)};
    GroupedAttentionOptions& a = o.block.attention;
    a.d_model = number(notes, llama + "embedding_length", most);
    a.n_heads = number(notes, heads, most);
    a.n_kv_heads = notes.contains(heads + "_kv") ? number(notes, heads + "_kv", most) : a.n_heads;
    a.rotary = {static_cast<Real>(note<double>(notes, llama + "rope.freq_base")), pairing};
    o.block.d_ff = number(notes, llama + "feed_forward_length", most);
    o.block.eps =
        static_cast<Real>(note<double>(notes, llama + "attention.layer_norm_rms_epsilon"));
    const std::string turned = llama + "rope.dimension_count";
    require(!notes.contains(turned) || number(notes, turned, most) * a.n_heads == a.d_model,
            "{} is {}, expected {} / {}, because whole heads turn here", turned,
            number(notes, turned, most), a.d_model, a.n_heads);
    return o;
}
// [json]
namespace {

Note note_of(const json& field) {
    if (field.is_number_float()) return field.get<double>();
    if (field.is_number_integer()) return field.get<std::int64_t>();
    throw std::invalid_argument("it is " + field.dump().substr(0, 60) + ", expected a number");
}

}  // namespace

std::map<std::string, Note> notes_of_json(const std::filesystem::path& config) try {
    json fields = strict_json(read_file(config, JsonLimits().bytes));
    if (const auto rope = fields.find("rope_parameters"); rope != fields.end()) {  // newer files
        require(rope->is_object() && rope->value("rope_type", "default") == "default",
                "rope_parameters is {}, expected the rope_type default", rope->dump());
        fields["rope_theta"] = rope->value("rope_theta", json());
        fields.erase("rope_parameters");
    }
    std::map<std::string, Note> notes;
    for (const auto& [name, field] : fields.items()) {
        if (std::ranges::count(no_effect, name)) continue;
        const auto same = std::ranges::find(same_field, name, &Names::first);
        const auto must = std::ranges::find(only, name, &Names::first);
        require(same != std::end(same_field) || must != std::end(only),
                "it has the field {}, which is not built here", name);
        if (must != std::end(only))
            require(field == json::parse(must->second), "{} is {}, expected {}", name,
                    field.dump().substr(0, 60), must->second);
        else if (!field.is_null())
            notes[std::string(same->second)] = note_of(field);
    }
    for (const char* real : {"llama.rope.freq_base", "llama.attention.layer_norm_rms_epsilon"})
        if (const auto n = notes.find(real); n != notes.end())  // 10000 is a real number, too
            if (const auto* whole = std::get_if<std::int64_t>(&n->second))
                n->second = static_cast<double>(*whole);
    require(fields.contains("model_type"), "the field model_type is missing");
    return notes;
} catch (const std::invalid_argument& error) {
    throw std::runtime_error(
        fmt::format("{}: {}", printable(config.string()), printable(error.what(), 300)));
}

}  // namespace abh
