#include "chapters/13_real_translation/practice/validation.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "chapters/09_training/loss/vocabulary_loss.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "lib/io/files.hpp"

namespace abh {
// [by length]
namespace {

/// The numbers of the pairs, in groups of at most `at_once` of similar length.
std::vector<std::vector<Index>> by_length(std::span<const IdPair> pairs, std::size_t at_once) {
    std::vector<Index> order(pairs.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, {}, [&](Index number) {
        const IdPair& pair = pairs[static_cast<std::size_t>(number)];
        return std::pair(pair.source.size(), pair.target.size());
    });
    std::vector<std::vector<Index>> parts;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i % at_once == 0) parts.emplace_back();
        parts.back().push_back(order[i]);
    }
    return parts;
}

}  // namespace
// [loss]
double mean_loss(const Transformer& model, std::span<const IdPair> pairs, const Symbols& symbols,
                 const Team& team) {
    require(!pairs.empty(), "validation: there are no pairs");
    const auto batches = by_length(pairs, 16);  // few, because all their logits are in memory
    const auto sums = team.share_out(static_cast<Index>(batches.size()), [&](Index i) {
        const Batch batch = make_batch(pairs, batches[static_cast<std::size_t>(i)], symbols);
        const auto counted = static_cast<double>(batch.n_targets);
        const Tensor y = model.forward(batch.source, batch.target_in);
        const double mean = vocabulary_loss(y, model.output, batch.targets, {symbols.pad});
        return to_bytes(std::vector{mean * counted, counted});
    });
    double sum = 0, words = 0;
    for (const std::string& bytes : sums) {
        const std::vector<double> numbers = from_bytes<double>(bytes);
        sum += numbers[0];
        words += numbers[1];
    }
    return sum / words;
}
// [translate]
std::vector<std::vector<std::int32_t>> share_sentences(std::span<const IdPair> pairs,
                                                       std::size_t at_once, const Team& team,
                                                       const TranslateSome& translate) {
    const auto batches = by_length(pairs, at_once);
    const auto found = team.share_out(static_cast<Index>(batches.size()), [&](Index b) {
        std::vector<const std::vector<std::int32_t>*> sources;
        for (const Index number : batches[static_cast<std::size_t>(b)])
            sources.push_back(&pairs[static_cast<std::size_t>(number)].source);
        return nlohmann::json(translate(sources)).dump();
    });
    std::vector<std::vector<std::int32_t>> translations(pairs.size());
    for (std::size_t b = 0; b < batches.size(); ++b) {
        const auto of_batch = nlohmann::json::parse(found[b]);
        for (std::size_t i = 0; i < batches[b].size(); ++i)
            of_batch[i].get_to(translations[static_cast<std::size_t>(batches[b][i])]);
    }
    return translations;
}

std::vector<std::vector<std::int32_t>> translate_greedily(const Transformer& model,
                                                          std::span<const IdPair> pairs,
                                                          const Symbols& symbols,
                                                          const Team& team) {
    return share_sentences(pairs, 64, team, [&](const auto sources) {
        const Ids src = source_batch(sources, symbols);
        std::vector<std::vector<std::int32_t>> translations;
        for (const auto& translation : greedy_decode_cached(
                 model, src,
                 {.start = symbols.start, .end = symbols.end, .max_words = 2 * src.dim(1) + 10}))
            translations.push_back(translation.ids);
        return translations;
    });
}
// [validate]
Validation validate(const Transformer& model, const HeldOut& held_out, const Symbols& symbols,
                    const TextScoring& scoring, const Team& team) {
    Validation result;
    result.loss = mean_loss(model, held_out.ids, symbols, team);
    for (const auto& ids : translate_greedily(model, held_out.ids, symbols, team))
        result.translations.push_back(scoring.text(ids));
    result.score = scoring.score(result.translations, held_out.references);
    return result;
}

}  // namespace abh
