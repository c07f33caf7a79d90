#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::accepted([&] {
        const Subwords subwords(std::string(reinterpret_cast<const char*>(data), size));
        const std::vector<std::int32_t> ids = subwords.encode("I have 好朋友 . \U0001F600");
        for (const std::int32_t id : ids)
            fuzz::expect(id >= 0 && id < subwords.size(), "an id beyond the vocabulary");
        subwords.decode(ids);
    });
    return 0;
}
