#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "chapters/13_real_translation/marian/marian_json.hpp"

namespace abh {
// [rules]
namespace {

using enum FieldRule::Use;
constexpr std::string_view config = "config.json", generation = "generation_config.json",
                           tokenizer = "tokenizer_config.json";

constexpr FieldRule rules[] = {
    {config,
     "model_type vocab_size decoder_vocab_size d_model hidden_size encoder_layers "
     "num_hidden_layers decoder_layers encoder_attention_heads num_attention_heads "
     "decoder_attention_heads encoder_ffn_dim decoder_ffn_dim activation_function "
     "max_position_embeddings scale_embedding tie_word_embeddings "
     "share_encoder_decoder_embeddings pad_token_id decoder_start_token_id eos_token_id",
     followed, "", "the model's sizes, variants and symbols"},
    {config, "is_encoder_decoder static_position_embeddings", only_usual, "[true]",
     "Marian's models are so"},
    {config,
     "is_decoder normalize_before normalize_embedding add_final_layer_norm add_bias_logits "
     "tie_encoder_decoder",
     only_usual, "[false]", "Marian's models are so"},
    {config, "per_layer_config pruned_heads", only_usual, "[]", "layers are all of one form here"},
    {config, "quantization_config fusion_config transformers_weights", only_usual, "[]",
     "save the model as it is without, in model.safetensors"},
    {config, "auto_map configuration_files", only_usual, "[]", "the folder's own code is not run"},
    {config, "decoder encoder generator text_config text_encoder", only_usual, "[]",
     "Marian's models have one configuration for both stacks"},
    {config, "tokenizer_class", only_usual, R"(["MarianTokenizer"])", "no other is known here"},
    {config,
     "dropout attention_dropout activation_dropout classif_dropout classifier_dropout "
     "encoder_layerdrop decoder_layerdrop init_std initializer_range initializer_factor "
     "gradient_checkpointing",
     no_effect, "", "for training"},
    {config,
     "dtype torch_dtype use_bfloat16 torchscript attn_implementation _attn_implementation "
     "experts_implementation chunk_size_feed_forward distributed_config return_dict",
     no_effect, "", "how the library computes; no more than rounding depends on it"},
    {config,
     "architectures name_or_path _name_or_path model_name finetuning_task task_specific_params "
     "prefix id2label label2id num_labels _num_labels problem_type",
     no_effect, "", "names, and what pipelines for other tasks read"},
    {config,
     "rope_scaling rope_theta layer_types mtp_layer_types sliding_window sep_token_id "
     "cross_attention_hidden_size add_cross_attention extra_pos_embeddings output_past "
     "do_blenderbot_90_layernorm",
     no_effect, "", "of other models; the library's model of Marian does not read them"},

    {generation,
     "decoder_start_token_id eos_token_id pad_token_id bad_words_ids renormalize_logits num_beams "
     "length_penalty early_stopping max_length max_new_tokens",
     followed, "", "symbols, and the search where no option of translate says otherwise"},
    {generation,
     "forced_bos_token_id forced_decoder_ids suppress_tokens begin_suppress_tokens sequence_bias "
     "exponential_decay_length_penalty force_words_ids constraints stop_strings "
     "watermarking_config dola_layers max_time assistant_early_exit",
     only_usual, "[]", "the search here has no such rule"},
    {generation,
     "no_repeat_ngram_size encoder_no_repeat_ngram_size min_length min_new_tokens "
     "diversity_penalty penalty_alpha",
     only_usual, "[0]", "the search here has no such rule"},
    {generation, "repetition_penalty encoder_repetition_penalty num_beam_groups guidance_scale",
     only_usual, "[1]", "the search here has no such rule"},
    {generation, "do_sample token_healing is_assistant use_mtp force_bos_token_to_be_generated",
     only_usual, "[false]", "the search here has no such rule"},
    {generation, "cache_implementation", only_usual, R"(["dynamic", "static"])",
     "others round the keys and values"},
    {generation, "temperature top_k top_p min_p top_h typical_p epsilon_cutoff eta_cutoff",
     no_effect, "", "for sampling, which is refused"},
    {generation,
     "prompt_lookup_num_tokens max_matching_ngram_size num_assistant_tokens "
     "num_assistant_tokens_schedule assistant_confidence_threshold assistant_lookbehind "
     "target_lookbehind assistant_ensemble_weight speculation_type",
     no_effect, "", "for guesses that the model checks before it says them"},
    {generation,
     "use_cache cache_config max_cache_len compile_config disable_compile low_memory "
     "continuous_batching_config prefill_chunk_size",
     no_effect, "", "how the library computes; no more than rounding depends on it"},
    {generation,
     "num_return_sequences output_attentions output_hidden_states output_scores output_logits "
     "return_dict_in_generate",
     no_effect, "", "what is returned beside the best translation"},
    {generation, "forced_eos_token_id", no_effect, "",
     "only for a translation that is cut off, which ends there anyway"},
    {generation, "remove_invalid_values", no_effect, "", "what is not a number is an error here"},
    {generation, "bos_token_id", no_effect, "", "the decoder begins with decoder_start_token_id"},
    {generation, "_from_model_config transformers_version _commit_hash", no_effect, "", "names"},

    {tokenizer,
     "unk_token eos_token pad_token bos_token sep_token cls_token mask_token "
     "additional_special_tokens extra_special_tokens added_tokens_decoder split_special_tokens "
     "separate_vocabs clean_up_tokenization_spaces",
     followed, "", "the tokens, and how text is cut and joined"},
    {tokenizer, "tokenizer_class", only_usual, R"(["MarianTokenizer"])", "no other is known here"},
    {tokenizer, "sp_model_kwargs", only_usual, "[]", "pieces are not sampled here"},
    {tokenizer, "auto_map init_inputs fast_tokenizer_files", only_usual, "[]",
     "the folder's own code or files are not used"},
    {tokenizer, "padding_side", only_usual, R"(["right"])", "a pad in front moves all positions"},
    {tokenizer, "model_input_names", only_usual, R"([["input_ids", "attention_mask"]])",
     "without the mask, pads are seen"},
    {tokenizer, "model_max_length max_len truncation_side", no_effect, "",
     "a line that is too long is not cut, but left out with a message"},
    {tokenizer, "source_lang target_lang", no_effect, "",
     "for a step that the library prepares, but does not take"},
    {tokenizer,
     "vocab source_spm target_spm target_vocab_file vocab_file tokenizer_file "
     "special_tokens_map_file",
     no_effect, "", "the folder's files have fixed names"},
    {tokenizer,
     "token_type_ids_pattern token_type_ids_include_special_tokens special_tokens_pattern "
     "clean_up_tokenization_spaces_for_bpe_even_though_it_will_"
     "corrupt_output",
     no_effect, "", "of other tokenizers; Marian's has rules of its own"},
    {tokenizer,
     "chat_template response_template response_schema chat_control_tokens name_or_path "
     "processor_class backend files_loaded is_local local_files_only verbose use_fast _commit_hash",
     no_effect, "", "names, and what other tasks read"},
    {tokenizer, "add_bos_token add_eos_token", only_usual, "[true, false]",
     "Marian's tokenizer always appends the end symbol, and no other"},
    {tokenizer, "model_specific_special_tokens *_token", only_usual, "[]",
     "list such a token in additional_special_tokens"},
    {"tokenizer.json", "added_tokens", followed, "",
     "the only field that the library reads, and only if tokenizer_config.json has no list"},
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

std::span<const FieldRule> marian_rules() {
    return rules;
}

const FieldRule* marian_rule(std::string_view file, const std::string& name) {
    const auto* const found = std::ranges::find_if(
        rules, [&](const FieldRule& rule) { return rule.file == file && names_it(rule, name); });
    return found == std::end(rules) ? nullptr : found;
}

bool Fields::has(const std::string& name) const {
    if (std::ranges::none_of(rules, [&](const FieldRule& rule) {
            return rule.use == followed && names_it(rule, name);
        }))
        throw std::logic_error(name + " is read, but no rule says that it is followed");
    return values_.contains(name) && !values_[name].is_null();
}

void Fields::require_usual(std::string_view file) const {
    for (const auto& [name, value] : values_.items()) {
        const FieldRule* const rule = marian_rule(file, name);
        if (!rule || rule->use != only_usual || value.is_null()) continue;
        const auto usual = nlohmann::json::parse(rule->usual);
        const bool none = usual.empty() && value.is_structured() && value.empty();
        if (!none && std::ranges::find(usual, value) == usual.end())
            fail("{} is {}, expected {}: {}", name, value.dump(), listed(usual), rule->why);
    }
}

std::vector<std::string> unknown_fields(const std::filesystem::path& folder) {
    std::vector<std::string> lines;
    for (const auto& [file, rules_of] :
         {std::pair{config, config},
          {generation, generation},
          {tokenizer, tokenizer},
          {std::string_view("special_tokens_map.json"), tokenizer}}) {
        const Fields fields = Fields::if_there(folder / file);
        for (const auto& [name, value] : fields.all().items())
            if (!marian_rule(rules_of, name) && !(file == config && marian_rule(generation, name)))
                lines.push_back(fmt::format("{}: no rule here knows the field {}, so it is ignored",
                                            (folder / file).string(), printable(name, 100)));
    }
    return lines;
}

}  // namespace abh
