#include "chapters/13_real_translation/validation.hpp"

#include <algorithm>
#include <numeric>

#include "chapters/09_training/vocabulary_loss.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"

namespace abh {
// [by length]
namespace {

/// Numbers of pairs, some at a time, those of like lengths together.
std::vector<std::vector<Index>> by_length(std::span<const IdPair> pairs, std::size_t at_once) {
    std::vector<Index> order(pairs.size());
    std::iota(order.begin(), order.end(), Index{0});
    const auto lengths = [&](Index number) {
        const IdPair& pair = pairs[static_cast<std::size_t>(number)];
        return std::pair(pair.source.size(), pair.target.size());
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return lengths(a) < lengths(b); });
    std::vector<std::vector<Index>> parts;
    for (std::size_t first = 0; first < order.size(); first += at_once) {
        const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
        parts.emplace_back(
            begin, begin + static_cast<std::ptrdiff_t>(std::min(at_once, order.size() - first)));
    }
    return parts;
}

}  // namespace
// [loss]
double mean_loss(const Transformer& model, std::span<const IdPair> pairs, const Symbols& symbols) {
    require(!pairs.empty(), "validation: there is no pair");
    double sum = 0;
    Index words = 0;
    for (const std::vector<Index>& numbers : by_length(pairs, 16)) {  // few: all logits stand there
        const Batch batch = make_batch(pairs, numbers, symbols);
        Index counted = 0;
        for (const std::int32_t target : batch.target_out.values())
            counted += target != symbols.pad;
        const Tensor y = model.forward_hidden(batch.source, batch.target_in);
        const double mean = vocabulary_loss(y, model.output, batch.target_out, {symbols.pad});
        sum += mean * static_cast<double>(counted);
        words += counted;
    }
    return sum / static_cast<double>(words);
}
// [translate]
std::vector<std::vector<std::int32_t>> translate_greedily(const Transformer& model,
                                                          std::span<const IdPair> pairs,
                                                          const Symbols& symbols) {
    std::vector<std::vector<std::int32_t>> translations(pairs.size());
    for (const std::vector<Index>& numbers : by_length(pairs, 64)) {
        std::vector<const std::vector<std::int32_t>*> sources;
        for (const Index number : numbers)
            sources.push_back(&pairs[static_cast<std::size_t>(number)].source);
        const Ids src = source_batch(sources, symbols);
        const auto found = greedy_decode_cached(
            model, src,
            {.start = symbols.start, .end = symbols.end, .max_words = 2 * src.dim(1) + 10});
        for (std::size_t i = 0; i < numbers.size(); ++i)
            translations[static_cast<std::size_t>(numbers[i])] = found[i].ids;
    }
    return translations;
}
// [validate]
Validation validate(const Transformer& model, const HeldOut& held_out, const Symbols& symbols,
                    const TextScoring& scoring) {
    Validation result;
    result.loss = mean_loss(model, held_out.ids, symbols);
    for (const auto& ids : translate_greedily(model, held_out.ids, symbols))
        result.translations.push_back(scoring.text(ids));
    result.score = scoring.score(result.translations, held_out.references);
    return result;
}

}  // namespace abh
