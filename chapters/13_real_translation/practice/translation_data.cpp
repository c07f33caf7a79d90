#include "chapters/13_real_translation/practice/translation_data.hpp"

#include <algorithm>

#include "chapters/13_real_translation/practice/checked_file.hpp"

namespace abh {
// [encode]
TranslationData encode_text(const ParallelText& text, const Subwords& source,
                            const Subwords& target, Index longest) {
    require(longest >= 2, "data: sentences of {} words, expected at least 2", longest);
    const std::size_t most = static_cast<std::size_t>(longest) - 1;  // and the end symbol
    TranslationData data;
    const auto ids_of = [&](const TextPair& pair) {
        return IdPair{source.encode(pair.source), target.encode(pair.target)};
    };
    const auto fits = [&](const IdPair& ids) {
        return std::max(ids.source.size(), ids.target.size()) <= most;
    };
    for (const TextPair& pair : text.train) {
        IdPair ids = ids_of(pair);
        if (fits(ids))
            data.train.push_back(std::move(ids));
        else
            ++data.too_long;
    }
    const auto held_out = [&](const std::vector<TextPair>& pairs) {
        HeldOut all{{}, sources(pairs), targets(pairs)};
        for (const TextPair& pair : pairs) {
            IdPair& ids = all.ids.emplace_back(ids_of(pair));
            data.cut += !fits(ids);
            ids.source.resize(std::min(ids.source.size(), most));
            ids.target.resize(std::min(ids.target.size(), most));
        }
        return all;
    };
    data.dev = held_out(text.dev);
    data.test = held_out(text.test);
    return data;
}
// [subwords]
std::pair<Subwords, Subwords> learn_subwords(const std::vector<TextPair>& train, Index n_pieces,
                                             bool shared) {
    if (shared) {
        const Subwords both = Subwords::train(both_sides(train), n_pieces);
        return {both, both};
    }
    return {Subwords::train(sources(train), n_pieces), Subwords::train(targets(train), n_pieces)};
}
// [fingerprint]
std::string fingerprint(const std::vector<TextPair>& pairs) {
    std::string all;
    for (const TextPair& pair : pairs) all += pair.source + '\t' + pair.target + '\n';
    return fmt::format("{} pairs, checksum {}", pairs.size(), checksum(all));
}

}  // namespace abh
