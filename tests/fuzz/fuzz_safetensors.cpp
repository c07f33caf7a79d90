#include "lib/io/safetensors.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    TensorFile content;
    const fuzz::MemoryFile file(fuzz::tensor_file(data, size));
    if (!fuzz::accepted([&] { content = load_safetensors(file.path()); })) return 0;
    for (const auto& [name, tensor] : content.tensors)
        fuzz::expect(static_cast<std::size_t>(tensor.size()) <= size, "more numbers than bytes");
    return 0;
}
