#include <algorithm>

#include "chapters/13_real_translation/marian/marian.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

namespace {

void expect_possible(const MarianConfig& config) {
    const TransformerOptions& o = config.model;
    const auto is_word = [&](std::int32_t id) { return id >= 0 && id < o.tgt_words; };
    fuzz::expect(is_word(config.search.start) && is_word(config.search.end) &&
                     config.search.end < o.src_words,
                 "a symbol beyond the vocabulary");
    fuzz::expect(std::ranges::all_of(config.search.never, is_word), "an id beyond the vocabulary");
    fuzz::expect(to_json(transformer_options(to_json(o))) == to_json(o), "options change");
}

/// With the pieces of a small model, whatever ids they have.
void use(const MarianWords& words, const MarianConfig& config) {
    for (const std::int32_t id : words.encode(">>deu<< I have <ent> a good friend ."))
        fuzz::expect(id >= 0 && id < config.model.src_words, "an id beyond the vocabulary");
    for (std::int32_t id = 0; id < config.model.tgt_words; ++id) words.decode({{id}});
}

}  // namespace

/// A line each with config.json, generation_config.json and tokenizer_config.json, and vocab.json
/// behind them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFolder folder;
    static const std::vector<std::string> sentences{"I have a good friend ."};
    static const std::string pieces = Subwords::train(sentences, 30, false).model();
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    for (const char* name :
         {"config.json", "generation_config.json", "tokenizer_config.json", "vocab.json"}) {
        const std::size_t end = name[0] == 'v' ? rest.npos : rest.find('\n');
        folder.put(name, rest.substr(0, end));
        rest = end == rest.npos ? "{}" : rest.substr(end + 1);
    }
    for (const char* name : {"source.spm", "target.spm"}) folder.put(name, pieces);
    fuzz::accepted([&] {
        const MarianConfig config = read_marian_config(folder.path());
        expect_possible(config);
        if (std::max(config.model.src_words, config.model.tgt_words) <= 1000)
            use(MarianWords(folder.path(), config), config);
    });
    return 0;
}
