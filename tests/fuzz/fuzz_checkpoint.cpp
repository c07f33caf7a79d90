#include "chapters/09_training/model/checkpoint.hpp"
#include "chapters/13_real_translation/practice/text_model.hpp"
#include "lib/io/safetensors.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

void fuzz::meet(std::string_view bytes) {
    const auto file = fuzz::folder.put("file", fuzz::tensor_file(bytes));
    fuzz::accepted([&] {
        const TensorFile content = load_safetensors(file);
        for (const auto& [name, tensor] : content.tensors)
            fuzz::expect(static_cast<std::size_t>(tensor.size()) <= bytes.size(),
                         "more numbers than bytes");
    });
    fuzz::accepted([&] { load_text_model(file); });
    fuzz::accepted([&] {
        const Checkpoint checkpoint = load_checkpoint(file);
        fuzz::expect(checkpoint.source.size() == checkpoint.model.options().src_words,
                     "a vocabulary and its model differ");
        const std::string options = to_json(checkpoint.model.options());
        fuzz::expect(to_json(transformer_options(options)) == options, "options change");
    });
}
