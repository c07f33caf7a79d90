#include "chapters/13_real_translation/scores/error_report.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "chapters/13_real_translation/scores/slips.hpp"
#include "chapters/13_real_translation/search/translate_lines.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/program/table.hpp"

namespace abh {
// [parts]
namespace {

using Numbers = std::vector<std::size_t>;  ///< of pairs

double percent(std::size_t part, std::size_t whole) {
    return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

double bleu_of(const Translated& test, const Numbers& numbers) {
    std::vector<std::string> translations, references;
    for (const std::size_t i : numbers) {
        translations.push_back(test.translations[i]);
        references.push_back(test.pairs.references[i]);
    }
    return bleu(translations, references, {test.tokenization}).value;
}

/// The pairs for which `is` says yes.
template <class Is>
Numbers which(const Translated& test, const Is& is) {
    Numbers numbers;
    for (std::size_t i = 0; i < test.translations.size(); ++i)
        if (is(i)) numbers.push_back(i);
    return numbers;
}

/// For how many of these pairs `is` says yes of reference and translation.
template <class Is>
std::size_t count(const Translated& test, const Numbers& numbers, const Is& is) {
    return static_cast<std::size_t>(std::ranges::count_if(numbers, [&](std::size_t i) {
        return is(test.pairs.references[i], test.translations[i]);
    }));
}

}  // namespace
// [samples]
void show_samples(const Translated& test, Index n) {
    const std::size_t all = test.translations.size(), some = static_cast<std::size_t>(n);
    for (std::size_t k = 0; k < some && k < all; ++k) {
        const std::size_t i = (2 * k + 1) * all / (2 * std::min(some, all));
        fmt::print("{}\n    reference    {}\n    translation  {}\n",
                   printable(test.pairs.sources[i]), printable(test.pairs.references[i]),
                   printable(test.translations[i]));
    }
}
// [by length]
void show_by_length(const Translated& test, Results& results) {
    std::vector<std::size_t> lengths;
    for (const IdPair& pair : test.pairs.ids) lengths.push_back(pair.source.size());
    std::vector<std::size_t> sorted = lengths;
    std::ranges::sort(sorted);
    constexpr std::size_t parts = 4;
    Table table(results, {{"pieces", "<10"},
                          {"sentences", "9"},
                          varying("BLEU", "6.1f", "length_{}_bleu"),
                          varying("the same %", "10.0f", "length_{}_same"),
                          varying("shorter %", "9.0f"),
                          varying("longer %", "8.0f"),
                          varying("repeats %", "9.1f", "length_{}_repeats")});
    Tensor curve({static_cast<Index>(parts), 2});
    std::size_t first = sorted.front();
    for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t end = (part + 1) * sorted.size() / parts;
        if (end == 0) continue;  // fewer sentences than parts
        const std::size_t last = sorted[end - 1];
        const Numbers numbers =
            which(test, [&](std::size_t i) { return first <= lengths[i] && lengths[i] <= last; });
        if (numbers.empty()) continue;  // all of one length
        const auto share = [&](const auto& is) {
            return percent(count(test, numbers, is), numbers.size());
        };
        const auto longer = [](const std::string& a, const std::string& b) {
            return 2 * count_words(a) > 3 * count_words(b);
        };
        const double score = bleu_of(test, numbers);
        table.row(part, fmt::format("{} to {}", first, last), numbers.size(), score,
                  share(std::equal_to{}), share(longer),
                  share([&](const auto& a, const auto& b) { return longer(b, a); }),
                  share([](const auto& a, const auto& b) { return repeats(b) && !repeats(a); }));
        double pieces = 0;
        for (const std::size_t i : numbers) pieces += static_cast<double>(lengths[i]);
        curve(part, 0) = static_cast<Real>(pieces / static_cast<double>(numbers.size()));
        curve(part, 1) = static_cast<Real>(score);
        first = last + 1;
    }
    results.array("bleu_by_length", curve);
}
// [by kind]
void show_by_kind(const Translated& test, std::span<const IdPair> train, Results& results) {
    Table table(results, {{"with", "<14"},
                          {"sentences", "9", "{}_sentences"},
                          varying("BLEU", "6.1f", "{}_bleu"),
                          varying("lost %", "6.1f", "{}_lost"),
                          varying("added %", "7.1f", "{}_added")});
    const std::vector<std::string>& references = test.pairs.references;
    std::vector<bool> any(references.size());
    const auto row = [&](const char* key, const char* name, const Numbers& numbers,
                         const auto& lost, const auto& added) {
        for (const std::size_t i : numbers) any[i] = true;
        if (numbers.empty()) return;
        table.row(key, name, numbers.size(), bleu_of(test, numbers), lost, added);
    };
    struct Kind {
        Mark mark;
        const char* key;
        const char* name;
    };
    constexpr std::array<Kind, 4> kinds{{{Mark::question, "question", "a question"},
                                         {Mark::negation, "negation", "a negation"},
                                         {Mark::number, "number", "digits"},
                                         {Mark::name, "name", "a name"}}};
    for (const Kind& kind : kinds) {
        const auto marked = [&](std::size_t i) { return !marks(kind.mark, references[i]).empty(); };
        const Numbers with = which(test, marked);
        const Numbers all = which(test, [](std::size_t) { return true; });
        const auto not_kept = [&](const std::string& a, const std::string& b) {
            return !kept(kind.mark, a, b);
        };
        const std::size_t lost = count(test, with, not_kept);
        const std::size_t added =
            count(test, all, [&](const auto& a, const auto& b) { return not_kept(b, a); });
        row(kind.key, kind.name, with, percent(lost, std::max<std::size_t>(with.size(), 1)),
            percent(added, all.size()));
    }

    std::map<std::int32_t, Index> seen;
    for (const IdPair& pair : train)
        for (const std::int32_t id : pair.source) ++seen[id];
    const Numbers rare = which(test, [&](std::size_t i) {
        return std::ranges::any_of(test.pairs.ids[i].source,
                                   [&](std::int32_t id) { return seen[id] < 5; });
    });
    row("rare", "a rare piece", rare, "", "");
    row("plain", "none of these", which(test, [&](std::size_t i) { return !any[i]; }), "", "");
}
// [beams]
namespace {

/// What a search over all pairs found.
struct Searched {
    double score, length, seconds;  ///< length: words said, of those in the references
};

Searched search(const LineTranslator& translator, const HeldOut& dev, const TextScoring& scoring,
                const BeamOptions& options, const Team& team) {
    constexpr std::size_t at_once = 64;
    const auto translate = [&](std::span<const std::vector<std::int32_t>* const> some) {
        std::vector<std::vector<std::int32_t>> sources, translations;
        for (const auto* source : some) sources.push_back(*source);
        for (const auto& hypotheses : translate_sentences(translator, sources, at_once, options))
            translations.push_back(hypotheses.front().ids);
        return translations;
    };
    std::vector<std::vector<std::int32_t>> found;
    const double seconds =
        milliseconds([&] { found = share_sentences(dev.ids, at_once, team, translate); }) / 1000;
    std::vector<std::string> texts;
    std::size_t said = 0, wanted = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        texts.push_back(scoring.text(found[i]));
        said += count_words(texts.back());
        wanted += count_words(dev.references[i]);
    }
    return {scoring.score(texts, dev.references),
            static_cast<double>(said) / static_cast<double>(wanted), seconds};
}

}  // namespace

void show_beams(const Transformer& model, const HeldOut& dev, const Symbols& symbols,
                const TextScoring& scoring, Results& results, const Team& team) {
    const LineTranslator translator{model,         {},          {},           symbols.end,
                                    symbols.start, symbols.end, {symbols.pad}};
    constexpr std::array<Index, 4> widths{1, 2, 4, 8};
    Table table(results, {{"beam", "4"},
                          varying("BLEU, sums", "10.2f", "beam_{}_sums_bleu"),
                          varying("length", "6.3f", "beam_{}_sums_length"),
                          varying("BLEU, means", "11.2f", "beam_{}_bleu"),
                          varying("length", "6.3f", "beam_{}_length"),
                          varying("sentences/s", "11.0f", "beam_{}_speed", "1/s")});
    Tensor curve({static_cast<Index>(widths.size()), 3});
    for (Index i = 0; const Index width : widths) {
        BeamOptions options{.beam = width, .length_penalty = 0};
        const Searched sums = search(translator, dev, scoring, options, team);
        options.length_penalty = 1;
        const Searched means = search(translator, dev, scoring, options, team);
        table.row(width, width, sums.score, sums.length, means.score, means.length,
                  static_cast<double>(dev.ids.size()) / means.seconds);
        curve(i, 0) = static_cast<Real>(width);
        curve(i, 1) = static_cast<Real>(sums.score);
        curve(i++, 2) = static_cast<Real>(means.score);
    }
    results.array("bleu_by_beam", curve);
}
// [attention]
namespace {

/// The longest translation of at most 12 pieces that is its reference; else the first.
std::size_t best_known(const Translated& test) {
    std::size_t best = 0, longest = 0;
    for (std::size_t i = 0; i < test.translations.size(); ++i) {
        const std::size_t length = test.pairs.ids[i].target.size();
        if (test.translations[i] != test.pairs.references[i] || length > 12) continue;
        if (std::max(length, test.pairs.ids[i].source.size()) <= 12 && length > longest) {
            longest = length;
            best = i;
        }
    }
    return best;
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
    const IdPair& pair = test.pairs.ids[best_known(test)];
    const Batch batch = make_batch({&pair, 1}, std::array<Index, 1>{0}, symbols);
    Transformer::AttentionWeights weights;
    model.forward(batch.source, batch.target_in, nullptr, &weights);
    const Tensor& cross = weights.decoder.back().cross;  // [1, H, Lt, Ls]
    const Index heads = cross.dim(1), rows = cross.dim(2), columns = cross.dim(3);
    Tensor mean = Tensor::zeros({rows, columns});
    for (Index h = 0; h < heads; ++h)
        for (Index i = 0; i < rows; ++i)
            for (Index j = 0; j < columns; ++j)
                mean(i, j) += cross(0, h, i, j) / static_cast<Real>(heads);
    results.array("attention", mean);
    results.set_varying("attention_source", joined(subwords.first, pair.source));
    results.set_varying("attention_said", joined(subwords.second, pair.target));
}

}  // namespace abh
