#include "chapters/09_training/model/checkpoint.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::MemoryFile file(fuzz::tensor_file(data, size));
    fuzz::accepted([&] {
        const Checkpoint checkpoint = load_checkpoint(file.path());
        fuzz::expect(checkpoint.source.size() == checkpoint.model.options().src_words,
                     "a vocabulary and its model differ");
    });
    return 0;
}
