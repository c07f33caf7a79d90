#include "chapters/09_training/model/transformer.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    fuzz::accepted([&] {
        const TransformerOptions options = transformer_options(text);
        const std::string written = to_json(options);
        fuzz::expect(to_json(transformer_options(written)) == written, "options change");
    });
    return 0;
}
