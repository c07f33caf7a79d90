#include "chapters/13_real_translation/practice/text_model.hpp"

#include "chapters/09_training/model/checkpoint.hpp"
#include "lib/io/safetensors.hpp"

namespace abh {
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
    const TensorFile file = load_safetensors(path);
    try {
        auto [source, target] = subwords_of(file.metadata);
        Transformer model = model_of(file);
        const TransformerOptions& options = model.options();
        require(source.size() == options.src_words && target.size() == options.tgt_words,
                "it has {} and {} subwords, but its model has {} and {} words", source.size(),
                target.size(), options.src_words, options.tgt_words);
        const auto made = file.metadata.find("made");
        return {std::move(model), std::move(source), std::move(target),
                made == file.metadata.end() ? "" : made->second};
    } catch (const std::exception& error) {
        throw std::runtime_error(
            fmt::format("{}: not a model of this chapter: {}", path.string(), error.what()));
    }
}

}  // namespace abh
