#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

void fuzz::meet(std::string_view bytes) {
    fuzz::accepted([&] {
        const Subwords subwords{std::string(bytes)};
        const std::vector<std::int32_t> ids = subwords.encode("I have 好朋友 . \U0001F600");
        for (const std::int32_t id : ids)
            fuzz::expect(id >= 0 && id < subwords.size(), "an id beyond the vocabulary");
        subwords.decode(ids);
    });
}
