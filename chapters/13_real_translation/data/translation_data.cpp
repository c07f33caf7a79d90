#include "chapters/13_real_translation/data/translation_data.hpp"

#include <algorithm>

#include "chapters/13_real_translation/practice/checked_file.hpp"

namespace abh {
// [encode]
namespace {

/// All pairs, the long ones cut.
HeldOut held_out(const std::vector<TextPair>& pairs, const Subwords& source, const Subwords& target,
                 std::size_t longest, Index& cut) {
    HeldOut result;
    for (const TextPair& pair : pairs) {
        IdPair ids{source.encode(pair.source), target.encode(pair.target)};
        cut += std::max(ids.source.size(), ids.target.size()) > longest;
        ids.source.resize(std::min(ids.source.size(), longest));
        ids.target.resize(std::min(ids.target.size(), longest));
        result.ids.push_back(std::move(ids));
        result.sources.push_back(pair.source);
        result.references.push_back(pair.target);
    }
    return result;
}

}  // namespace

TranslationData encode_text(const ParallelText& text, const Subwords& source,
                            const Subwords& target, Index longest) {
    require(longest >= 2, "data: sentences of {} words, expected at least 2", longest);
    const std::size_t most = static_cast<std::size_t>(longest) - 1;  // and the end symbol
    TranslationData data;
    for (const TextPair& pair : text.train) {
        IdPair ids{source.encode(pair.source), target.encode(pair.target)};
        if (std::max(ids.source.size(), ids.target.size()) > most)
            ++data.too_long;
        else
            data.train.push_back(std::move(ids));
    }
    data.dev = held_out(text.dev, source, target, most, data.cut);
    data.test = held_out(text.test, source, target, most, data.cut);
    return data;
}
// [subwords]
std::pair<Subwords, Subwords> learn_subwords(const std::vector<TextPair>& train, Index n_pieces,
                                             bool shared) {
    if (shared) {
        const Subwords both = Subwords::train(both_sides(train), n_pieces);
        return {both, both};
    }
    std::vector<std::string> sources, targets;
    for (const TextPair& pair : train) {
        sources.push_back(pair.source);
        targets.push_back(pair.target);
    }
    return {Subwords::train(sources, n_pieces), Subwords::train(targets, n_pieces)};
}
// [fingerprint]
std::string fingerprint(const std::vector<TextPair>& pairs) {
    std::string all;
    for (const TextPair& pair : pairs) all += pair.source + '\t' + pair.target + '\n';
    return fmt::format("{} pairs, checksum {}", pairs.size(), checksum(all));
}

}  // namespace abh
