#include "chapters/09_training/model/checkpoint.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace abh {
// [save]
using nlohmann::json;

std::filesystem::path default_checkpoint(const std::string& name, std::uint64_t seed) {
    const char* const folder = std::getenv("ABH_CHECKPOINTS");
    return std::filesystem::path(folder ? folder : "checkpoints") /
           fmt::format("{}-seed{}.safetensors", name, seed);
}

TensorFile checkpoint_of(Transformer& model, const Corpus& corpus, const std::string& made) {
    TensorFile file;
    file.metadata = {{"made", made},
                     {"options", to_json(model.options())},
                     {"source_words", json(corpus.source.words()).dump()},
                     {"target_words", json(corpus.target.words()).dump()}};
    put_weights(file, model);
    return file;
}
// [weights]
void put_weights(TensorFile& file, Transformer& model) {
    for (const NamedParameter& p : parameters_of(model)) file.tensors[p.name] = p.parameter->value;
}

void require_weights(const TensorFile& file, Transformer& model) {
    for (const NamedParameter& p : parameters_of(model))
        file.at(p.name, p.parameter->value.shape());
}

void take_weights(const TensorFile& file, Transformer& model) {
    require_weights(file, model);
    for (const NamedParameter& p : parameters_of(model))
        p.parameter->assign(file.tensors.at(p.name));
}

const std::string& note(const TensorFile& file, const std::string& name) {
    const auto found = file.metadata.find(name);
    require(found != file.metadata.end(), "no {} in its notes", name);
    return found->second;
}

Transformer model_of(const TensorFile& file) {
    const TransformerOptions options = transformer_options(note(file, "options"));
    require_plausible(options, file);
    Transformer model(options, Random(0));
    take_weights(file, model);
    return model;
}

void require_plausible(const TransformerOptions& o, const TensorFile& file) {
    double held = 0;
    for (const auto& [name, tensor] : file.tensors) held += static_cast<double>(tensor.size());
    constexpr double longest_table = 1 << 25;  // of positions, which the file may lack
    const double d_model = static_cast<double>(o.layer.attention.d_model),
                 layers = static_cast<double>(o.n_encoder_layers) +
                          static_cast<double>(o.n_decoder_layers);
    const auto fits = [&](Index size, double times, double room) {
        return d_model * static_cast<double>(size) * times <= room;
    };
    require(fits(o.src_words, 1, held) && fits(o.tgt_words, 1, held) &&
                fits(o.layer.attention.d_model, layers, held) && fits(o.layer.d_ff, layers, held) &&
                fits(o.positions.max_len, 1, std::max(held, longest_table)),
            "it holds {} numbers, too few for its options", held);
}

// [load]
Checkpoint load_checkpoint(const std::filesystem::path& path) {
    const TensorFile file = load_safetensors(path);
    const auto words = [&](const char* name) {
        const std::string list = note(file, name);
        require(list.size() <= 1 << 24, "its {} have {} bytes, expected at most 16777216", name,
                list.size());
        return Vocabulary(json::parse(list).get<std::vector<std::string>>());
    };
    try {
        const auto made = file.metadata.find("made");  // older files lack it
        Checkpoint checkpoint{model_of(file), words("source_words"), words("target_words"),
                              made == file.metadata.end() ? "" : made->second};
        const TransformerOptions& options = checkpoint.model.options();
        require(checkpoint.source.size() == options.src_words &&
                    checkpoint.target.size() == options.tgt_words,
                "its vocabularies have {} and {} words, but its model has {} and {}",
                checkpoint.source.size(), checkpoint.target.size(), options.src_words,
                options.tgt_words);
        return checkpoint;
    } catch (const std::exception& error) {
        throw std::runtime_error(
            fmt::format("{}: not a checkpoint of this book: {}", path.string(), error.what()));
    }
}

}  // namespace abh
