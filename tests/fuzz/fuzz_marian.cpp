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
void fuzz::meet(std::string_view bytes) {
    static const std::vector<std::string> sentences{"I have a good friend ."};
    static const std::string pieces = Subwords::train(sentences, 30, false).model();
    for (const char* name :
         {"config.json", "generation_config.json", "tokenizer_config.json", "vocab.json"}) {
        const std::size_t end = name[0] == 'v' ? bytes.npos : bytes.find('\n');
        fuzz::folder.put(name, bytes.substr(0, end));
        bytes = end == bytes.npos ? "{}" : bytes.substr(end + 1);
    }
    for (const char* name : {"source.spm", "target.spm"}) fuzz::folder.put(name, pieces);
    fuzz::accepted([&] {
        const MarianConfig config = read_marian_config(fuzz::folder.path());
        expect_possible(config);
        if (std::max(config.model.src_words, config.model.tgt_words) <= 1000)
            use(MarianWords(fuzz::folder.path(), config), config);
    });
}
