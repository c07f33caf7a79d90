#include "chapters/09_training/data/corpus.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

void fuzz::meet(std::string_view bytes) {
    const auto file = fuzz::folder.put("file", bytes);
    fuzz::accepted([&] {
        const Corpus corpus = read_corpus(file, 100);
        for (const Vocabulary* words : {&corpus.source, &corpus.target})
            for (Index id = 0; id < words->size(); ++id)
                fuzz::expect(words->id(words->word(static_cast<std::int32_t>(id))) == id,
                             "a word has another's id");
        const Batch batch = make_batch(corpus, corpus.train);
        fuzz::expect(batch.source.ids.dim(0) == static_cast<Index>(corpus.train.size()),
                     "a pair is missing");
    });
}
