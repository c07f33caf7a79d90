#include "chapters/13_real_translation/scores/ter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/scores/score_words.hpp"

namespace abh {
// [steps]
namespace {

using Sentence = std::vector<std::int32_t>;

Index length_of(const Sentence& sentence) {
    return static_cast<Index>(sentence.size());
}

/// A step that reads the hypothesis from left to right and writes the reference.
enum class Step : std::uint8_t { none, keep, replace, remove, insert };

/// The fewest steps that make the first j words of the reference of the first i words of the
/// hypothesis, for all i and j near the diagonal.
class StepTable {
public:
    explicit StepTable(const Sentence& reference);
    /// Fills the table for this hypothesis. Rows of words that the one before began with are kept.
    Index distance(const Sentence& hypothesis);
    /// The steps of the hypothesis that `distance` saw last.
    std::vector<Step> path() const;

private:
    struct Cell {
        Index steps = std::numeric_limits<Index>::max() / 2;
        Step last = Step::none;
    };
    struct Row {
        Index begin = 0;
        std::vector<Cell> cells = {};
    };

    Cell at(Index i, Index j) const;
    Row new_row(Index i) const;

    const Sentence& reference_;
    Sentence hypothesis_;
    std::vector<Row> rows_;
};
// [table]
StepTable::StepTable(const Sentence& reference) : reference_(reference), rows_(1) {
    for (Index j = 0; j <= length_of(reference); ++j) rows_[0].cells.push_back({j, Step::insert});
}

StepTable::Cell StepTable::at(Index i, Index j) const {
    const Row& row = rows_[static_cast<std::size_t>(i)];
    const bool inside = j >= row.begin && j < row.begin + static_cast<Index>(row.cells.size());
    return inside ? row.cells[static_cast<std::size_t>(j - row.begin)] : Cell();
}

Index StepTable::distance(const Sentence& hypothesis) {
    std::size_t same = 0;
    if (hypothesis.size() == hypothesis_.size())  // or else the band lies elsewhere
        same = static_cast<std::size_t>(
            std::mismatch(hypothesis.begin(), hypothesis.end(), hypothesis_.begin()).first -
            hypothesis.begin());
    rows_.resize(same + 1);
    hypothesis_ = hypothesis;
    for (Index i = static_cast<Index>(same) + 1; i <= length_of(hypothesis); ++i) {
        rows_.emplace_back();
        rows_.back() = new_row(i);
    }
    return at(length_of(hypothesis), length_of(reference_)).steps;
}
// [row]
/// The band is 25 cells to both sides of the diagonal, and wider where rows would not overlap.
StepTable::Row StepTable::new_row(Index i) const {
    constexpr double half_band = 25;
    const Index said = length_of(hypothesis_), wanted = length_of(reference_);
    const double slope = static_cast<double>(wanted) / static_cast<double>(said);
    const auto half =
        static_cast<Index>(half_band < slope / 2 ? std::ceil(slope / 2 + half_band) : half_band);
    const auto diagonal = static_cast<Index>(std::floor(static_cast<double>(i) * slope));
    const Index end = i == said ? wanted + 1 : std::min(wanted + 1, diagonal + half);
    Row row{std::max<Index>(0, diagonal - half)};
    Cell left;
    for (Index j = row.begin; j < end; ++j) {
        Cell cell;
        const auto consider = [&](Index steps, Step last) {
            if (steps < cell.steps) cell = {steps, last};
        };
        if (j > 0) {
            const bool equal = hypothesis_[static_cast<std::size_t>(i - 1)] ==
                               reference_[static_cast<std::size_t>(j - 1)];
            consider(at(i - 1, j - 1).steps + !equal, equal ? Step::keep : Step::replace);
        }
        consider(at(i - 1, j).steps + 1, Step::remove);
        if (j > row.begin) consider(left.steps + 1, Step::insert);
        row.cells.push_back(left = cell);
    }
    return row;
}
// [path]
std::vector<Step> StepTable::path() const {
    std::vector<Step> steps;
    for (Index i = length_of(hypothesis_), j = length_of(reference_); i > 0 || j > 0;) {
        steps.push_back(at(i, j).last);
        if (steps.back() != Step::insert) --i;
        if (steps.back() != Step::remove) --j;
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
}
// [alignment]
/// Which words of both sentences go together.
struct Alignment {
    /// For each word of the reference the word of the hypothesis that it is made of, or behind
    /// which it is inserted: -1 at the beginning.
    std::vector<Index> place;
    std::vector<bool> said_wrong, wanted_wrong;  ///< words that are not kept
};

Alignment align(const std::vector<Step>& steps) {
    Alignment a;
    for (const Step step : steps) {
        if (step != Step::insert) a.said_wrong.push_back(step != Step::keep);
        if (step == Step::remove) continue;
        a.place.push_back(static_cast<Index>(a.said_wrong.size()) - 1);
        a.wanted_wrong.push_back(step != Step::keep);
    }
    return a;
}

bool any(const std::vector<bool>& wrong, Index begin, Index length) {
    const auto first = wrong.begin() + begin;
    return std::find(first, first + length, true) != first + length;
}
// [shift]
/// Words that stand together and go to another place.
struct Shift {
    Index gain;    ///< how many steps it saves
    Index length;  ///< words
    Index start;   ///< where they stand
    Index target;  ///< before which word they go

    /// The better of two saves more, then is longer, stands earlier, goes to an earlier place.
    bool better_than(const Shift& other) const {
        return std::tuple(gain, length, other.start, other.target) >
               std::tuple(other.gain, other.length, start, target);
    }
};

Sentence shifted(Sentence words, const Shift& s) {
    const auto at = words.begin();
    const Index behind = s.start + s.length;
    if (s.target < s.start)
        std::rotate(at + s.target, at + s.start, at + behind);
    else if (s.target > behind)
        std::rotate(at + s.start, at + behind, at + s.target);
    else  // a place within the words themselves: they go that far to the right
        std::rotate(at + s.start, at + behind,
                    at + std::min(s.target + s.length, length_of(words)));
    return words;
}
// [search]
/// The search for shifts. Its limits are those of tercom.
class ShiftSearch {
public:
    explicit ShiftSearch(const Sentence& reference) : reference_(reference), table_(reference) {}
    /// Steps and shifts together.
    Index edits(Sentence hypothesis);

private:
    static constexpr Index longest = 10, farthest = 50, most_tried = 1000;

    void look_from(const Sentence& words, Index start);
    void try_places(const Sentence& words, Index start, Index wanted, Index length);

    const Sentence& reference_;
    StepTable table_;
    Alignment alignment_;
    Index before_ = 0, tried_ = 0;
    std::optional<Shift> best_;
};

Index ShiftSearch::edits(Sentence words) {
    for (Index shifts = 0;; ++shifts) {
        before_ = table_.distance(words);
        alignment_ = align(table_.path());
        best_.reset();
        for (Index start = 0; start < length_of(words) && tried_ < most_tried; ++start)
            look_from(words, start);
        if (tried_ >= most_tried || !best_ || best_->gain <= 0) return shifts + before_;
        words = shifted(std::move(words), *best_);
    }
}
// [search: one start]
/// Tries runs of words from `start` on that the reference has somewhere.
void ShiftSearch::look_from(const Sentence& words, Index start) {
    const Index end = std::min(length_of(reference_), start + farthest + 1);
    for (Index wanted = std::max<Index>(0, start - farthest); wanted < end; ++wanted) {
        const Index room =
            std::min({longest, length_of(words) - start, length_of(reference_) - wanted});
        for (Index n = 1; n <= room && words[static_cast<std::size_t>(start + n - 1)] ==
                                           reference_[static_cast<std::size_t>(wanted + n - 1)];
             ++n) {
            const Index place = alignment_.place[static_cast<std::size_t>(wanted)];
            if (any(alignment_.said_wrong, start, n) && any(alignment_.wanted_wrong, wanted, n) &&
                (place < start || place >= start + n))
                try_places(words, start, wanted, n);
            if (tried_ >= most_tried) return;
        }
    }
}

/// Tries to put the words before and behind each word of the hypothesis that goes with one of the
/// reference's run.
void ShiftSearch::try_places(const Sentence& words, Index start, Index wanted, Index length) {
    Index last = -1;
    for (Index j = wanted - 1; j < wanted + length; ++j) {
        const Index target = j < 0 ? 0 : alignment_.place[static_cast<std::size_t>(j)] + 1;
        if (target == last) continue;
        last = target;
        Shift shift{0, length, start, target};
        shift.gain = before_ - table_.distance(shifted(words, shift));
        ++tried_;
        if (!best_ || shift.better_than(*best_)) best_ = shift;
    }
}

}  // namespace

Index count_edits(std::vector<std::int32_t> hypothesis,
                  const std::vector<std::int32_t>& reference) {
    if (reference.empty()) return length_of(hypothesis);
    return ShiftSearch(reference).edits(std::move(hypothesis));
}
// [metric]
namespace {

using Strings = std::vector<std::u32string>;

Strings ter_words(std::u32string text, const TerOptions& options) {
    if (options.normalize) text = normalized_for_ter(std::move(text));
    if (options.no_punctuation)
        std::erase_if(text, [](char32_t c) {
            return std::u32string_view(U".,?:;!\"()").find(c) != std::u32string_view::npos;
        });
    return split_at_spaces(text);
}

/// The words of a reference, which sacrebleu takes apart twice: the point of ".7" behind a comma
/// comes off the second time.
Strings ter_words_of_reference(const std::u32string& text, const TerOptions& options) {
    std::u32string once;
    for (const std::u32string& word : ter_words(text, options)) once += word + U" ";
    if (!once.empty()) once.pop_back();
    return ter_words(once, options);
}

/// Edits, and words of the reference.
Counts count_ter(const std::string& hypothesis, const std::string& reference,
                 const TerOptions& options) {
    const auto text = [&](const std::string& line) {
        return code_points(options.case_sensitive ? line : lower_case(line));
    };
    std::map<std::u32string, std::int32_t> numbers;
    const auto numbered = [&](const Strings& words) {
        Sentence sentence;
        for (const std::u32string& word : words)
            sentence.push_back(
                numbers.try_emplace(word, static_cast<std::int32_t>(numbers.size())).first->second);
        return sentence;
    };
    const Sentence said = numbered(ter_words(text(hypothesis), options)),
                   wanted = numbered(ter_words_of_reference(text(reference), options));
    return {static_cast<double>(count_edits(said, wanted)), static_cast<double>(wanted.size())};
}

}  // namespace

Metric ter_metric(const TerOptions& options) {
    Metric metric;
    metric.name = "TER";
    metric.higher_is_better = false;
    metric.settings = fmt::format(
        "case:{}|tok:tercom|norm:{}|punct:{}|asian:no", options.case_sensitive ? "mixed" : "lc",
        options.normalize ? "yes" : "no", options.no_punctuation ? "no" : "yes");
    metric.count = [options](const std::string& hypothesis, const std::string& reference) {
        return count_ter(hypothesis, reference, options);
    };
    metric.value = [](const Counts& sums) {
        return sums[1] > 0 ? 100 * sums[0] / sums[1] : sums[0] > 0 ? 100.0 : 0.0;
    };
    return metric;
}

Score ter(std::span<const std::string> hypotheses, std::span<const std::string> references,
          const TerOptions& options) {
    return corpus_score(ter_metric(options), hypotheses, references);
}

}  // namespace abh
