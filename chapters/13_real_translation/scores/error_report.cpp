#include "chapters/13_real_translation/scores/error_report.hpp"

#include <algorithm>
#include <array>

#include "chapters/09_training/corpus.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/scores/scores.hpp"
#include "chapters/13_real_translation/search/translate_lines.hpp"
#include "lib/eigen.hpp"
#include "lib/program/output.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [samples]
void show_samples(const Translated& test, std::size_t n) {
    const std::size_t all = test.translations.size(), shown = std::min(n, all);
    for (std::size_t k = 0; k < shown; ++k) {
        const std::size_t i = (2 * k + 1) * all / (2 * shown);
        fmt::print("{}\n    reference    {}\n    translation  {}\n",
                   printable(test.pairs.sources[i]), printable(test.pairs.references[i]),
                   printable(test.translations[i]));
    }
}
// [by length]
void show_by_length(const Translated& test, const TextScoring& scoring, Results& results) {
    std::vector<std::size_t> sorted;
    for (const IdPair& pair : test.pairs.ids) sorted.push_back(pair.source.size());
    std::ranges::sort(sorted);
    Table table(results, {{"pieces", "<10"},
                          {"sentences", "9"},
                          varying("BLEU", "6.1f", "length_{}_bleu"),
                          varying("the same %", "10.0f", "length_{}_same")});
    Tensor curve = Tensor::zeros({4, 2});
    for (std::size_t part = 0, first = sorted.front(); part < 4; ++part) {
        const std::size_t last =
            sorted[std::max<std::size_t>((part + 1) * sorted.size() / 4, 1) - 1];
        std::vector<std::string> translations, references;
        double pieces = 0, same = 0;
        for (std::size_t i = 0; i < test.translations.size(); ++i) {
            const std::size_t length = test.pairs.ids[i].source.size();
            if (length < first || length > last) continue;
            translations.push_back(test.translations[i]);
            references.push_back(test.pairs.references[i]);
            pieces += static_cast<double>(length);
            same += translations.back() == references.back();
        }
        if (references.empty()) continue;  // all of one length
        const double score = scoring.score(translations, references);
        const auto n = static_cast<double>(references.size());
        table.row(part, fmt::format("{} to {}", first, last), references.size(), score,
                  100 * same / n);
        curve(part, 0) = static_cast<Real>(pieces / n);
        curve(part, 1) = static_cast<Real>(score);
        first = last + 1;
    }
    results.array("bleu_by_length", curve);
}
// [beams]
void show_beams(const Transformer& model, const HeldOut& dev, const Symbols& symbols,
                const TextScoring& scoring, Results& results, const Team& team) {
    const LineTranslator translator{model,         {},          {},           symbols.end,
                                    symbols.start, symbols.end, {symbols.pad}};
    Table table(results, {{"beam", "4"},
                          varying("BLEU, sums", "10.2f", "beam_{}_sums_bleu"),
                          varying("length", "6.3f", "beam_{}_sums_length"),
                          varying("BLEU, means", "11.2f", "beam_{}_bleu"),
                          varying("length", "6.3f", "beam_{}_length"),
                          varying("sentences/s", "11.0f", "beam_{}_speed", "1/s")});
    const auto words = [](const std::vector<std::string>& texts) {
        return static_cast<double>(score_words(join_words(texts)).size());
    };
    Tensor curve({4, 3});
    for (Index i = 0; i < 4; ++i) {
        BeamOptions options{.beam = Index{1} << i};
        const auto translate = [&](const auto some) {
            std::vector<std::vector<std::int32_t>> sources, translations;
            for (const auto* source : some) sources.push_back(*source);
            for (const auto& found : translate_sentences(translator, sources, 64, options))
                translations.push_back(found.front().ids);
            return translations;
        };
        std::array<double, 2> score{}, length{};  // by sums, by means
        double ms = 0;
        for (std::size_t alpha = 0; alpha < 2; ++alpha) {
            options.length_penalty = static_cast<Real>(alpha);
            std::vector<std::string> texts;
            ms = milliseconds([&] {
                for (const auto& ids : share_sentences(dev.ids, 64, team, translate))
                    texts.push_back(scoring.text(ids));
            });
            score[alpha] = scoring.score(texts, dev.references);
            length[alpha] = words(texts) / words(dev.references);
            curve(i, alpha + 1) = static_cast<Real>(score[alpha]);
        }
        curve(i, 0) = static_cast<Real>(options.beam);
        table.row(options.beam, options.beam, score[0], length[0], score[1], length[1],
                  1000 * static_cast<double>(dev.ids.size()) / ms);
    }
    results.array("bleu_by_beam", curve);
}
// [attention]
namespace {

/// The longest translation of at most 12 pieces that is its reference; else the first.
const IdPair& best_known(const Translated& test) {
    const IdPair* best = nullptr;
    for (std::size_t i = 0; i < test.translations.size(); ++i) {
        const IdPair& pair = test.pairs.ids[i];
        if (test.translations[i] == test.pairs.references[i] && pair.source.size() <= 12 &&
            pair.target.size() <= 12 && (!best || pair.target.size() > best->target.size()))
            best = &pair;
    }
    return best ? *best : test.pairs.ids.front();
}

std::string joined(const Subwords& subwords, std::span<const std::int32_t> ids) {
    std::string text;
    for (const std::int32_t id : ids) text += subwords.piece(id) + ' ';
    return text + "</s>";
}

}  // namespace

void record_attention(const Transformer& model, const Translated& test,
                      const std::pair<Subwords, Subwords>& subwords, const Symbols& symbols,
                      Results& results) {
    const IdPair& pair = best_known(test);
    const Batch batch = make_batch({&pair, 1}, std::array<Index, 1>{0}, symbols);
    Transformer::AttentionWeights weights;
    model.forward(batch.source, batch.target_in, nullptr, &weights);
    const Tensor& cross = weights.decoder.back().cross;  // [1, H, Lt, Ls]
    Tensor mean = Tensor::zeros({cross.dim(2), cross.dim(3)});
    for (Index h = 0; h < cross.dim(1); ++h)
        matrix(mean) += matrix(cross, h) / static_cast<Real>(cross.dim(1));
    results.array("attention", mean);
    results.set_varying("attention_source", joined(subwords.first, pair.source));
    results.set_varying("attention_said", joined(subwords.second, pair.target));
}

}  // namespace abh
