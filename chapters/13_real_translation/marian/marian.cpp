#include "chapters/13_real_translation/marian/marian.hpp"

#include <memory>
#include <set>

#include "chapters/09_training/model/checkpoint.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/marian/marian_json.hpp"
#include "lib/io/safetensors.hpp"

namespace abh {
// [names]
namespace {

/// The library's name for a parameter other than the tables and the last bias.
std::string marian_name(std::string name) {
    const char* const norm2 =
        name.starts_with("decoder.") ? ".encoder_attn_layer_norm." : ".final_layer_norm.";
    for (const auto& [ours, theirs] : {std::pair{".w_q.", ".q_proj."},
                                       {".w_k.", ".k_proj."},
                                       {".w_v.", ".v_proj."},
                                       {".w_o.", ".out_proj."},
                                       {".multihead_attn.", ".encoder_attn."},
                                       {".linear1.", ".fc1."},
                                       {".linear2.", ".fc2."},
                                       {".norm1.", ".self_attn_layer_norm."},
                                       {".norm2.", norm2},
                                       {".norm3.", ".final_layer_norm."}})
        name = replaced(std::move(name), ours, theirs);
    return "model." + name;
}
// [found]
/// The file of the weights. Refuses a folder that lacks it, or that has an adapter besides.
std::filesystem::path find_weights(const std::filesystem::path& folder) {
    const std::filesystem::path adapter = folder / "adapter_config.json",
                                weights = folder / "model.safetensors";
    if (std::filesystem::exists(adapter))
        refuse(adapter, "this is an adapter; merge it into the model with peft's merge_and_unload");
    if (!std::filesystem::exists(weights))
        refuse(weights,
               "the file is missing; if the weights are in another form, convert them: python "
               "chapters/13_real_translation/marian_files.py safetensors {}",
               folder.string());
    return weights;
}
// [weights]
/// A file's tensors, taken one by one.
class Weights {
public:
    /// Made before the model, so that a file cannot make us ask for more memory than a few times
    /// its own size.
    Weights(const std::filesystem::path& path, const TransformerOptions& options)
        : path_(path), file_(load_safetensors(path)) {
        try {
            require_plausible(options, file_);
        } catch (const std::invalid_argument& error) {
            refuse(path_, "{}", error.what());
        }
    }

    bool has(const std::string& name) const { return file_.tensors.contains(name); }
    /// The tensor with the first of these names that the file has.
    const Tensor& take(std::initializer_list<std::string> names, const Shape& shape) {
        for (const std::string& name : names) {
            if (!has(name)) continue;
            const Tensor& found = file_.tensors.at(name);
            if (found.shape() != shape)
                refuse(path_, "tensor {} has shape {}, expected {}", name, found.shape(), shape);
            taken_.insert(name);
            return found;
        }
        refuse(path_, "tensor {} is missing", *names.begin());
    }
    /// If the file repeats under this name what the model has already, the numbers must be equal.
    void expect_copy(const std::string& name, const Tensor& of, double bound = 0) {
        if (!has(name)) return;
        if (!(max_difference(take({name}, of.shape()), of) <= bound))
            refuse(path_, "tensor {} has other numbers than a model of Marian has", name);
    }
    void ignore(const std::string& name) { taken_.insert(name); }
    void expect_no_more() const {
        for (const auto& [name, tensor] : file_.tensors)
            if (!taken_.contains(name))
                refuse(path_, "tensor {} does not belong to such a model", name);
    }

private:
    std::filesystem::path path_;
    TensorFile file_;
    std::set<std::string> taken_;
};
// [tables]
const std::string shared_table = "model.shared.weight",
                  source_table = "model.encoder.embed_tokens.weight",
                  target_table = "model.decoder.embed_tokens.weight",
                  output_table = "lm_head.weight", last_bias = "final_logits_bias";

/// Loads the tables of words and the last bias. The library writes a shared table only once, under
/// one of its names, but older versions repeat it. The tables of positions are computed; a file
/// that also has them, perhaps in 16 bits, must agree.
void load_tables(Transformer& model, Weights& weights) {
    const TransformerOptions& o = model.options();
    const Shape source = model.src_embed.table.value.shape(),
                target = model.tgt_embed.table.value.shape();
    if (o.tied == Tied::all) {
        model.tgt_embed.table.assign(
            weights.take({shared_table, source_table, target_table, output_table}, target));
        for (const std::string& name : {shared_table, source_table})
            weights.expect_copy(name, model.src_embed.table.value);
    } else {
        model.src_embed.table.assign(weights.take({source_table, shared_table}, source));
        model.tgt_embed.table.assign(weights.take({target_table, shared_table}, target));
        weights.ignore(shared_table);  // the library does not use it if the others are there
    }
    weights.expect_copy(target_table, model.tgt_embed.table.value);
    if (o.tied == Tied::none) model.output.weight.assign(weights.take({output_table}, target));
    weights.expect_copy(output_table, model.output.weight.value);

    model.output.bias.value.fill(0);
    if (weights.has(last_bias))
        model.output.bias.assign(
            weights.take({last_bias}, {1, o.tgt_words}).reshape({o.tgt_words}));

    constexpr double bound = 1.0 / 256;  // BF16 changes numbers up to 1 by at most 1/512
    weights.expect_copy("model.encoder.embed_positions.weight", model.src_positions.table.value,
                        bound);
    weights.expect_copy("model.decoder.embed_positions.weight", model.tgt_positions.table.value,
                        bound);
}

}  // namespace
// [model]
Transformer load_marian_model(const std::filesystem::path& folder, const MarianConfig& config) {
    Weights weights(find_weights(folder), config.model);
    Transformer model(config.model, Random(0));
    load_tables(model, weights);
    for (const auto& [name, parameter] : parameters_of(model))
        if (name.starts_with("encoder.") || name.starts_with("decoder."))
            parameter->assign(weights.take({marian_name(name)}, parameter->value.shape()));
    weights.expect_no_more();
    if (config.renormalize)
        for (const std::int32_t word : config.search.never)
            model.output.bias.value(word) = Real(-1e30);  // its probability is 0
    return model;
}
// [translator]
LineTranslator marian_translator(const std::filesystem::path& folder) {
    const MarianConfig config = read_marian_config(folder);
    const auto words = std::make_shared<const MarianWords>(folder, config);
    return {.model = load_marian_model(folder, config),
            .encode = [words](const std::string& text) { return words->encode(text); },
            .decode = [words](std::span<const std::int32_t> ids) { return words->decode(ids); },
            .search = config.search};
}

}  // namespace abh
