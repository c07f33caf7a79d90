#include <algorithm>
#include <functional>
#include <vector>

#include "judge/answer/serve.hpp"

namespace abh::mine {
using Sentence = std::vector<std::int32_t>;
using Translate = std::function<std::vector<Sentence>(const Ids& batch)>;
std::vector<Sentence> translate_sorted(const std::vector<Sentence>& sources, Index batch_size,
                                       const Translate& translate);
}  // namespace abh::mine

using namespace abh;
using mine::Sentence;

namespace {

struct Counted {
    Ids translations;  ///< [sentences, L], 0 after their ends
    Ids batches;       ///< places of each batch, in the order in which they came
};

/// The translation of a sentence is the sentence in reverse order, with 100 added to each id.
Counted translate(const Ids& padded, Index batch_size) {
    std::vector<Sentence> sources;
    for (Index i = 0; i < padded.dim(0); ++i) {
        Sentence sentence;
        for (Index t = 0; t < padded.dim(1) && padded(i, t) != 0; ++t)
            sentence.push_back(padded(i, t));
        sources.push_back(sentence);
    }
    std::vector<std::int32_t> places;
    const mine::Translate by = [&](const Ids& batch) {
        require(batch.rank() == 2 && batch.dim(0) >= 1 && batch.dim(0) <= batch_size,
                "translate: the batch has shape {}, but batch_size is {}", batch.shape(),
                batch_size);
        places.push_back(static_cast<std::int32_t>(batch.size()));
        std::vector<Sentence> results;
        for (Index b = 0; b < batch.dim(0); ++b) {
            Sentence words;
            for (Index t = 0; t < batch.dim(1); ++t) {
                if (batch(b, t) == 0) continue;
                require(t == static_cast<Index>(words.size()),
                        "translate: a pad comes before a word, but pads belong after the end");
                words.push_back(batch(b, t) + 100);
            }
            std::reverse(words.begin(), words.end());
            results.push_back(words);
        }
        return results;
    };
    const std::vector<Sentence> results = mine::translate_sorted(sources, batch_size, by);
    Ids translations = Ids::zeros({static_cast<Index>(results.size()), padded.dim(1)});
    for (std::size_t i = 0; i < results.size(); ++i) {
        require(static_cast<Index>(results[i].size()) <= padded.dim(1),
                "a translation is longer than any that translate returned");
        for (std::size_t t = 0; t < results[i].size(); ++t)
            translations(static_cast<Index>(i), static_cast<Index>(t)) = results[i][t];
    }
    Ids batches({static_cast<Index>(places.size())});
    std::copy(places.begin(), places.end(), batches.values().begin());
    return {translations, batches};
}

Ids translations(const Ids& sources, Index batch_size) {
    return translate(sources, batch_size).translations;
}

Ids batches(const Ids& sources, Index batch_size) {
    return translate(sources, batch_size).batches;
}

std::vector<Ids> both(const Ids& sources, Index batch_size) {
    const Counted counted = translate(sources, batch_size);
    return {counted.translations, counted.batches};
}

}  // namespace

int main() {
    return judge::serve({{"translations", judge::function(translations)},
                         {"batches", judge::function(batches)},
                         {"both", judge::function(both)}});
}
