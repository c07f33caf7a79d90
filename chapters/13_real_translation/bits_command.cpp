#include <algorithm>
#include <chrono>

#include "chapters/13_real_translation/commands.hpp"
#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/scores/bleu.hpp"
#include "lib/precision.hpp"

namespace abh {
// [translate]
namespace {

/// One translation of each source, as text.
std::vector<std::string> translations(const LineTranslator& translator,
                                      std::span<const std::vector<std::int32_t>> sources,
                                      const BeamOptions& options) {
    std::vector<std::string> texts;
    for (const auto& hypotheses : translate_sentences(translator, sources, 32, options))
        texts.push_back(hypotheses.empty() ? "" : translator.decode(hypotheses.front().ids));
    return texts;
}
// [compare]
/// By how much the score of `some` exceeds that of `others`, and half the width of the range of
/// 95 % of the differences on samples that both share.
Interval difference(const std::vector<Counts>& some, const std::vector<Counts>& others,
                    std::uint64_t seed) {
    std::vector<double> differences = bootstrap(some, {}, seed);
    const std::vector<double> less = bootstrap(others, {}, seed);
    for (std::size_t i = 0; i < less.size(); ++i) differences[i] -= less[i];
    return {bleu_parts(sum_of(some)).value - bleu_parts(sum_of(others)).value,
            interval_of(differences).half_width};
}

}  // namespace
// [bits]
void show_bits(const LineTranslator& translator, Results& results, std::uint64_t seed) {
    section("The same translator in fewer bits");
    const ParallelText text = tatoeba();
    const std::vector<std::string> references = targets(text.test);
    std::vector<std::vector<std::int32_t>> sources;
    for (const TextPair& pair : text.test) {
        std::vector<std::int32_t> ids = translator.encode(pair.source);
        ids.resize(std::min(ids.size(), static_cast<std::size_t>(translator.max_source())));
        sources.push_back(std::move(ids));
    }
    BeamOptions options = translator.search;
    options.beam = 4;
    options.max_more = 50;
    Table table(results, {{"bits", "4"},
                          varying("seconds", "7.1f", "seconds_{}", "s"),
                          varying("BLEU", "6.2f", "bleu_{}"),
                          varying("±", "6.2f", "bleu_{}_half"),
                          varying("more", "6.2f", "more_{}"),
                          varying("±", "6.2f", "more_{}_half"),
                          varying("other lines", "11.0f", "other_{}")});
    std::vector<std::string> in_32;
    std::vector<Counts> counts_32;
    for (const auto& [bits, precision] :
         {std::pair{32, Precision::single}, {16, Precision::bf16}, {8, Precision::int8}}) {
        if (precision == Precision::bf16 && !has_bf16()) continue;
        const ScopedPrecision scoped(precision);
        using Clock = std::chrono::steady_clock;
        const Clock::time_point start = Clock::now();
        const std::vector<std::string> lines = translations(translator, sources, options);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        const std::vector<Counts> counts = count_sentences(lines, references);
        if (in_32.empty()) in_32 = lines, counts_32 = counts;
        const Interval more = difference(counts, counts_32, seed);
        Index other = 0;
        for (std::size_t i = 0; i < lines.size(); ++i) other += lines[i] != in_32[i];
        table.row(bits, bits, seconds, bleu_parts(sum_of(counts)).value,
                  interval_of(bootstrap(counts, {}, seed)).half_width, more.mean, more.half_width,
                  other);
    }
    if (!has_bf16())
        fmt::print("no 16 bits: here is no oneDNN, or no instruction for products in bf16\n");
    results.set("test_sentences", references.size());
}

}  // namespace abh
