#include <cstdlib>
#include <nlohmann/json.hpp>

#include "chapters/09_training/training.hpp"
#include "lib/safetensors.hpp"

namespace abh {
// [options as json]
namespace {

using nlohmann::json;

/// Calls `f(name, field)` for every option of a model: one list for writing and for reading.
template <class Options, class F>
void each_field(Options& o, const F& f) {
    f("src_words", o.src_words);
    f("tgt_words", o.tgt_words);
    f("n_encoder_layers", o.n_encoder_layers);
    f("n_decoder_layers", o.n_decoder_layers);
    f("d_model", o.layer.attention.d_model);
    f("n_heads", o.layer.attention.n_heads);
    f("d_ff", o.layer.d_ff);
    f("bias_qkv", o.layer.attention.bias_qkv);
    f("bias_out", o.layer.attention.bias_out);
    f("shared_head_maps", o.layer.attention.shared_head_maps);
    f("attention_scale", o.layer.attention.attention.scale);
    f("mask_meaning", o.layer.attention.attention.mask_meaning);
    f("mask_fill", o.layer.attention.attention.fill);
    f("mask_fill_place", o.layer.attention.attention.fill_place);
    f("ff_bias", o.layer.ff_bias);
    f("norm_placement", o.layer.add_norm.placement);
    f("norm_learned", o.layer.add_norm.norm.learned);
    f("norm_eps", o.layer.add_norm.norm.eps);
    f("dropout", o.layer.add_norm.dropout);
    f("dropout_after_norm", o.layer.add_norm.dropout_after_norm);
    f("scale_embedding", o.embedding.scale);
    f("padding_id", o.embedding.padding_id);
    f("positions", o.positions.kind);
    f("max_len", o.positions.max_len);
    f("position_dropout", o.positions.dropout);
    f("output_bias", o.output_bias);
    f("pad", o.pad);
    f("mask_target_pads", o.mask_target_pads);
}

}  // namespace
// [save]
std::filesystem::path default_checkpoint(const std::string& task, std::uint64_t seed) {
    const char* const folder = std::getenv("ABH_CHECKPOINTS");
    return std::filesystem::path(folder ? folder : "checkpoints") /
           fmt::format("{}-seed{}.safetensors", task, seed);
}

void save_checkpoint(const std::filesystem::path& path, Transformer& model, const Corpus& corpus) {
    json options;
    each_field(model.options(),
               [&](const char* name, const auto& field) { options[name] = field; });
    TensorFile file;
    file.metadata = {{"options", options.dump()},
                     {"source_words", json(corpus.source.words()).dump()},
                     {"target_words", json(corpus.target.words()).dump()}};
    for (const NamedParameter& p : parameters_of(model)) file.tensors[p.name] = p.parameter->value;
    save_safetensors(path, file);
}
// [load]
Checkpoint load_checkpoint(const std::filesystem::path& path) {
    const TensorFile file = load_safetensors(path);
    const auto note = [&](const char* name) {
        const auto found = file.metadata.find(name);
        require(found != file.metadata.end(), "no {} in its notes", name);
        return json::parse(found->second);
    };
    try {
        TransformerOptions options;
        const json values = note("options");
        each_field(options, [&](const char* name, auto& field) {
            require(values.contains(name), "no option {} in its notes", name);
            values[name].get_to(field);
        });
        Checkpoint checkpoint{Transformer(options, Random(0)),
                              Vocabulary(note("source_words").get<std::vector<std::string>>()),
                              Vocabulary(note("target_words").get<std::vector<std::string>>())};
        require(checkpoint.source.size() == options.src_words &&
                    checkpoint.target.size() == options.tgt_words,
                "its vocabularies have {} and {} words, its model {} and {}",
                checkpoint.source.size(), checkpoint.target.size(), options.src_words,
                options.tgt_words);
        for (const NamedParameter& p : parameters_of(checkpoint.model))
            p.parameter->value = file.at(p.name, p.parameter->value.shape());
        return checkpoint;
    } catch (const std::exception& error) {
        throw std::runtime_error(
            fmt::format("{}: not a checkpoint of this book: {}", path.string(), error.what()));
    }
}

}  // namespace abh
