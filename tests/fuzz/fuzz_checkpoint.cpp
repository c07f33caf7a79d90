#include "chapters/09_training/model/checkpoint.hpp"
#include "lib/io/safetensors.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::MemoryFile file(fuzz::tensor_file(data, size));
    fuzz::accepted([&] {
        const TensorFile content = load_safetensors(file.path());
        for (const auto& [name, tensor] : content.tensors)
            fuzz::expect(static_cast<std::size_t>(tensor.size()) <= size,
                         "more numbers than bytes");
    });
    fuzz::accepted([&] {
        const Checkpoint checkpoint = load_checkpoint(file.path());
        fuzz::expect(checkpoint.source.size() == checkpoint.model.options().src_words,
                     "a vocabulary and its model differ");
        const std::string options = to_json(checkpoint.model.options());
        fuzz::expect(to_json(transformer_options(options)) == options, "options change");
    });
    return 0;
}
