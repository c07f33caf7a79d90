#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "chapters/13_real_translation/marian/marian_json.hpp"

namespace abh {
// [rules]
namespace {

constexpr std::string_view config = "config.json", generation = "generation_config.json",
                           tokenizer = "tokenizer_config.json";

/// Fields that would change the translation, with the only values for which this book's would not.
struct FieldRule {
    std::string_view file;   ///< whose fields they are
    std::string_view names;  ///< with spaces between; `*_token` is every name that ends so
    std::string_view usual;  ///< the accepted values, a list in JSON; "" accepts all
    std::string_view why;    ///< or what to do
};

/// The first rule that names a field counts.
constexpr FieldRule rules[] = {
    {config, "is_encoder_decoder static_position_embeddings", "[true]", "Marian's models are so"},
    {config,
     "is_decoder normalize_before normalize_embedding add_final_layer_norm add_bias_logits "
     "tie_encoder_decoder",
     "[false]", "Marian's models are so"},
    {config, "per_layer_config pruned_heads", "[]", "layers are all of one form here"},
    {config, "quantization_config fusion_config transformers_weights", "[]",
     "save the model as it is without, in model.safetensors"},
    {config, "auto_map configuration_files", "[]", "the folder's own code is not run"},
    {config, "decoder encoder generator text_config text_encoder", "[]",
     "Marian's models have one configuration for both stacks"},
    {config, "tokenizer_class", R"(["MarianTokenizer"])", "no other is known here"},
    {generation,
     "forced_bos_token_id forced_decoder_ids suppress_tokens begin_suppress_tokens sequence_bias "
     "exponential_decay_length_penalty force_words_ids constraints stop_strings "
     "watermarking_config dola_layers max_time assistant_early_exit",
     "[]", "the search here has no such rule"},
    {generation,
     "no_repeat_ngram_size encoder_no_repeat_ngram_size min_length min_new_tokens "
     "diversity_penalty penalty_alpha",
     "[0]", "the search here has no such rule"},
    {generation, "repetition_penalty encoder_repetition_penalty num_beam_groups guidance_scale",
     "[1]", "the search here has no such rule"},
    {generation, "do_sample token_healing is_assistant use_mtp force_bos_token_to_be_generated",
     "[false]", "the search here has no such rule"},
    {generation, "cache_implementation", R"(["dynamic", "static"])",
     "others round the keys and values"},
    {tokenizer, "tokenizer_class", R"(["MarianTokenizer"])", "no other is known here"},
    {tokenizer, "sp_model_kwargs", "[]", "pieces are not sampled here"},
    {tokenizer, "auto_map init_inputs fast_tokenizer_files", "[]",
     "the folder's own code or files are not used"},
    {tokenizer, "padding_side", R"(["right"])", "a pad in front moves all positions"},
    {tokenizer, "model_input_names", R"([["input_ids", "attention_mask"]])",
     "without the mask, pads are seen"},
    {tokenizer,
     "unk_token eos_token pad_token bos_token sep_token cls_token mask_token add_bos_token "
     "add_eos_token",
     "", "read as tokens, or without effect: the end symbol is always appended, and no other"},
    {tokenizer, "model_specific_special_tokens *_token", "[]",
     "list such a token in additional_special_tokens"},
};
// [known]
bool names_it(const FieldRule& rule, std::string_view field) {
    std::istringstream names{std::string(rule.names)};
    for (std::string name; names >> name;)
        if (name == field || (name.starts_with('*') && field.ends_with(name.substr(1))))
            return true;
    return false;
}

/// Values as text: `0 or 1`, or `none`.
std::string listed(const nlohmann::json& values) {
    std::string text;
    for (const nlohmann::json& value : values) text += (text.empty() ? "" : " or ") + value.dump();
    return text.empty() ? "none" : text;
}

}  // namespace

void Fields::require_usual(std::string_view file) const {
    for (const auto& [name, value] : values_.items()) {
        const auto* const rule = std::ranges::find_if(
            rules, [&](const FieldRule& r) { return r.file == file && names_it(r, name); });
        if (rule == std::end(rules) || rule->usual.empty() || value.is_null()) continue;
        const auto usual = nlohmann::json::parse(rule->usual);
        const bool none = usual.empty() && value.is_structured() && value.empty();
        if (!none && std::ranges::find(usual, value) == usual.end())
            fail("{} is {}, expected {}: {}", name, value.dump(), listed(usual), rule->why);
    }
}

}  // namespace abh
