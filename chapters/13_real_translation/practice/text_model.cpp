#include "chapters/13_real_translation/practice/text_model.hpp"

#include "chapters/09_training/checkpoint.hpp"

namespace abh {
// [weights]
void put_weights(TensorFile& file, Transformer& model) {
    for (const NamedParameter& p : parameters_of(model)) file.tensors[p.name] = p.parameter->value;
}

void take_weights(const TensorFile& file, Transformer& model) {
    const Parameters parameters = parameters_of(model);
    for (const NamedParameter& p : parameters) file.at(p.name, p.parameter->value.shape());
    for (const NamedParameter& p : parameters) p.parameter->assign(file.tensors.at(p.name));
}
// [notes]
Notes model_notes(const TransformerOptions& options, const Subwords& source,
                  const Subwords& target) {
    return {{"options", to_json(options)},
            {"source_subwords", to_hex(source.model())},
            {"target_subwords", to_hex(target.model())}};
}

std::pair<Subwords, Subwords> subwords_of(const Notes& notes) {
    return {Subwords(from_hex(note(notes, "source_subwords"))),
            Subwords(from_hex(note(notes, "target_subwords")))};
}
// [files]
TextModel load_text_model(const std::filesystem::path& path) {
    const TensorFile file = load_checked(path);
    try {
        auto [source, target] = subwords_of(file.metadata);
        const TransformerOptions options = transformer_options(note(file.metadata, "options"));
        require(source.size() == options.src_words && target.size() == options.tgt_words,
                "it has {} and {} subwords, but its model has {} and {} words", source.size(),
                target.size(), options.src_words, options.tgt_words);
        require_plausible(options, file);
        const auto made = file.metadata.find("made");
        TextModel model{Transformer(options, Random(0)), std::move(source), std::move(target),
                        made == file.metadata.end() ? "" : made->second};
        take_weights(file, model.model);
        return model;
    } catch (const std::exception& error) {
        throw std::runtime_error(
            fmt::format("{}: not a model of this chapter: {}", path.string(), error.what()));
    }
}

}  // namespace abh
