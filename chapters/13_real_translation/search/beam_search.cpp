#include "chapters/13_real_translation/search/beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "chapters/10_greedy_decoding/incremental_decoder.hpp"

namespace abh {
// [score]
double normalized(double log_probability, Index n, const BeamOptions& options) {
    return log_probability / std::pow(static_cast<double>(n), options.length_penalty);
}
// [round]
/// The 2k likeliest candidates. The sort is stable, so equal ones keep their order.
std::vector<Beam::Candidate> Beam::candidates(std::span<const Choice> choices) const {
    const std::size_t per_prefix = choices.size() / prefixes_.size();
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        const std::size_t parent = i / per_prefix;
        const double sum = prefixes_[parent].log_probability + choices[i].log_probability;
        all.push_back({sum, static_cast<std::int32_t>(parent), choices[i].word});
    }
    std::ranges::stable_sort(all, std::greater(), &Candidate::log_probability);
    all.resize(std::min(all.size(), 2 * static_cast<std::size_t>(options_.beam)));
    return all;
}

void Beam::extend(std::span<const Choice> choices) {
    const auto k = static_cast<std::size_t>(options_.beam);
    const bool last = ++round_ == limit_;
    const std::vector<Candidate> found = candidates(choices);
    std::vector<Prefix> next;
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
        const Candidate& c = found[rank];
        const bool ends = c.word == options_.end || last;
        if (ends && rank < k) set_aside(c);
        if (ends || next.size() == k) continue;
        next.push_back(
            {prefixes_[static_cast<std::size_t>(c.parent)].words, c.log_probability, c.parent});
        next.back().words.push_back(c.word);
    }
    prefixes_ = next;
    if (over()) prefixes_.clear();
}
// [set aside]
void Beam::set_aside(const Candidate& c) {
    Hypothesis h{prefixes_[static_cast<std::size_t>(c.parent)].words,
                 normalized(c.log_probability, round_, options_), c.log_probability,
                 c.word == options_.end};
    if (!h.finished) h.ids.push_back(c.word);
    const auto behind =
        std::ranges::upper_bound(set_aside_, h.score, std::greater(), &Hypothesis::score);
    set_aside_.insert(behind, h);
    if (static_cast<Index>(set_aside_.size()) > options_.beam) set_aside_.pop_back();
}

std::vector<Hypothesis> Beam::best() const {
    const Index n = std::min(options_.n_best, static_cast<Index>(set_aside_.size()));
    return {set_aside_.begin(), set_aside_.begin() + n};
}
// [over]
/// Sums never grow, because a word adds log p <= 0. So whatever extends a prefix with the sum s has
/// a sum of at most s. Since s <= 0 and the divisor grows with n, its score is at most
/// normalized(s, limit). No prefix has a larger sum than the first, so if the first one's bound
/// does not exceed the score of the n_best-th hypothesis, no score will.
bool Beam::over() const {
    const bool proven = options_.stopping == Stopping::proven;
    const auto wanted = static_cast<std::size_t>(proven ? options_.n_best : options_.beam);
    if (prefixes_.empty()) return true;
    if (set_aside_.size() < wanted) return false;
    if (options_.stopping == Stopping::full) return true;
    const Index length = proven ? limit_ : round_;
    return normalized(prefixes_.front().log_probability, length, options_) <=
           set_aside_[wanted - 1].score;
}
// [check]
namespace {

void check(const Transformer& model, const Ids& src, const BeamOptions& o) {
    require(src.rank() == 2 && src.dim(0) >= 1 && src.dim(1) >= 1,
            "beam search: src has shape {}, expected [B, Ls] with both >= 1", src.shape());
    require(src.dim(1) <= model.src_positions.max_len(),
            "beam search: the sentence has {} words, the model takes at most {}", src.dim(1),
            model.src_positions.max_len());
    require(o.beam >= 1 && o.beam <= 1 << 20 && o.n_best >= 1 && o.n_best <= o.beam,
            "beam search: n_best is {}, beam is {}, expected 1 <= n_best <= beam <= 2^20", o.n_best,
            o.beam);
    require(o.start != model.options().pad || !model.options().mask_target_pads,
            "beam search: start symbol {} is padding, which the decoder masks", o.start);
}

/// The beginning of each sentence's search, which may take as many rounds as the options, the
/// source's length and the model's positions allow.
std::vector<Beam> begin(const Transformer& model, const Ids& src, const BeamOptions& options) {
    const Index longest = std::min(options.max_words, model.tgt_positions.max_len());
    std::vector<Beam> beams;
    for (Index b = 0; b < src.dim(0); ++b) {
        const Ids row = src.rows(b, b + 1);
        const Index words = row.size() - std::ranges::count(row.values(), model.options().pad);
        beams.emplace_back(options, std::min(longest, words + options.max_more));
    }
    return beams;
}

// [all sentences]
/// Does one round for all sentences: row r of `choices` extends the prefix in row r of the decoder.
/// @return  the last words of the prefixes that go on
std::vector<std::int32_t> extend(std::vector<Beam>& beams, IncrementalDecoder& decoder,
                                 const BasicTensor<Choice>& choices) {
    std::vector<std::int32_t> parents, words;
    std::size_t row = 0;
    const auto per_row = static_cast<std::size_t>(choices.dim(1));
    for (Beam& beam : beams) {
        const std::size_t rows = beam.prefixes().size();
        if (rows == 0) continue;
        beam.extend(choices.values().subspan(row * per_row, rows * per_row));
        for (const Beam::Prefix& prefix : beam.prefixes()) {
            parents.push_back(static_cast<std::int32_t>(row) + prefix.parent);
            words.push_back(prefix.words.back());
        }
        row += rows;
    }
    decoder.select(parents);
    return words;
}

}  // namespace
// [beam search]
std::vector<std::vector<Hypothesis>> beam_search(
    const Transformer& model, const Ids& src, const BeamOptions& options,
    const std::function<void(std::span<const Beam>)>& watch) {
    check(model, src, options);
    Ids never({std::ssize(options.never)});
    std::ranges::copy(options.never, never.data());
    const Index n = std::min(2 * options.beam, model.options().tgt_words - never.size());
    std::vector<Beam> beams = begin(model, src, options);
    std::vector<std::int32_t> words(beams.size(), options.start);
    IncrementalDecoder decoder(model, src);
    while (!words.empty()) {
        const BasicTensor<Choice> choices = top_k(decoder.next(words), n, never);  // [rows, n]
        for (const Choice& choice : choices.values())
            if (std::isnan(choice.log_probability))
                throw std::runtime_error("beam search: a probability of the model is not a number");
        words = extend(beams, decoder, choices);
        if (watch) watch(beams);
    }
    std::vector<std::vector<Hypothesis>> found;
    for (const Beam& beam : beams) found.push_back(beam.best());
    return found;
}

}  // namespace abh
