#include "chapters/13_real_translation/scores/chrf_ter.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "chapters/13_real_translation/data/text.hpp"

namespace abh {
// [chrf]
namespace {

/// For each order, the n-grams of the hypothesis, those of the reference, and those common to both.
Counts count_chrf(const std::string& hypothesis, const std::string& reference) {
    const Words said = score_words(hypothesis, "char"), wanted = score_words(reference, "char");
    Counts counts;
    for (Index n = 1; n <= 6; ++n) {
        const double in_wanted = ngrams_in(wanted, n);
        // if the reference has none of this length, those of the hypothesis do not count
        counts.push_back(in_wanted > 0 ? ngrams_in(said, n) : 0);
        counts.push_back(in_wanted);
        counts.push_back(common_ngrams(said, wanted, n));
    }
    return counts;
}

/// The F score of mean precision and mean recall over the orders that both sides have.
double chrf_value(const Counts& sums) {
    double precision = 0, recall = 0, orders = 0;
    for (std::size_t k = 0; k < sums.size(); k += 3) {
        const double said = sums[k], wanted = sums[k + 1], common = sums[k + 2];
        if (said == 0 || wanted == 0) continue;
        precision += common / said;
        recall += common / wanted;
        ++orders;
    }
    if (precision + recall == 0) return 0;
    constexpr double beta = 2;
    precision /= orders;
    recall /= orders;
    return 100 * (1 + beta * beta) * precision * recall / (beta * beta * precision + recall);
}
// [edits]
const std::string& at(const Words& words, Index i) {
    return words[static_cast<std::size_t>(i)];
}

/// Row i, column j: the fewest edits without shifts that turn the first i words of the hypothesis
/// into the first j words of the reference. Only 25 places on either side of the diagonal are kept,
/// or more if rows would not overlap otherwise; the others are as good as infinite.
class EditTable {
public:
    EditTable(const Words& said, const Words& wanted)
        : slope_(static_cast<double>(wanted.size()) /
                 static_cast<double>(std::max<std::size_t>(said.size(), 1))),
          half_(static_cast<Index>(slope_ > 50 ? std::ceil(slope_ / 2 + 25) : 25)) {
        const Index rows = std::ssize(said), columns = std::ssize(wanted);
        edits_.setConstant(2 * half_ + 1, rows + 1, 1 << 30);
        for (Index i = 1; i <= rows; ++i) {
            const Index first = first_of(i),
                        end = i == rows ? columns + 1 : std::min(columns + 1, diagonal(i) + half_);
            for (Index j = first; j < end; ++j) {
                int& edits = edits_(j - first, i);
                edits = (*this)(i - 1, j) + 1;
                if (j == 0) continue;
                const bool differ = at(said, i - 1) != at(wanted, j - 1);
                edits = std::min({edits, (*this)(i, j - 1) + 1, (*this)(i - 1, j - 1) + differ});
            }
        }
    }

    int operator()(Index i, Index j) const {
        if (i == 0) return static_cast<int>(j);
        const Index place = j - first_of(i);
        return place >= 0 && place < edits_.rows() ? edits_(place, i) : 1 << 30;
    }

private:
    Index diagonal(Index i) const { return static_cast<Index>(static_cast<double>(i) * slope_); }
    Index first_of(Index i) const { return std::max<Index>(0, diagonal(i) - half_); }

    double slope_;
    Index half_;
    Eigen::ArrayXXi edits_;  ///< row i from its first kept place on, as column i
};

/// How a hypothesis becomes the reference without shifts.
struct Alignment {
    Index edits;
    /// For each word of the reference, how many words of the hypothesis are used up including it.
    Eigen::ArrayX<Index> used;
    Eigen::ArrayX<bool> said_wrong, wanted_wrong;  ///< words that are not kept
};

/// Follows the path through the table, from its end to its beginning.
Alignment align(const Words& said, const Words& wanted) {
    const EditTable edits(said, wanted);
    Index i = std::ssize(said), j = std::ssize(wanted);
    Alignment a{edits(i, j), Eigen::ArrayX<Index>(j), Eigen::ArrayX<bool>::Constant(i, true),
                Eigen::ArrayX<bool>::Constant(j, true)};
    while (i > 0 || j > 0) {
        const bool differ = i == 0 || j == 0 || at(said, i - 1) != at(wanted, j - 1);
        if (i > 0 && j > 0 && edits(i, j) == edits(i - 1, j - 1) + differ) {
            a.used(j - 1) = i;
            a.said_wrong(--i) = a.wanted_wrong(--j) = differ;
        } else if (i > 0 && edits(i, j) == edits(i - 1, j) + 1) {
            --i;
        } else {
            a.used(--j) = i;
        }
    }
    return a;
}
// [shifts]
constexpr Index longest = 10, farthest = 50, most_tried = 1000;  // the limits of tercom

/// `n` words of the hypothesis from `start` on, which the reference has from the word `wanted` on.
struct Run {
    Index start, wanted, n;
};

/// The runs that may be shifted: both sides have a word that is not kept, and are not aligned.
std::vector<Run> runs(const Words& said, const Words& wanted, const Alignment& a) {
    std::vector<Run> found;
    for (Index i = 0; i < std::ssize(said); ++i) {
        const Index end = std::min(std::ssize(wanted), i + farthest + 1);
        for (Index j = std::max<Index>(0, i - farthest); j < end; ++j) {
            const Index most = std::min({longest, std::ssize(said) - i, std::ssize(wanted) - j});
            for (Index n = 1; n <= most && at(said, i + n - 1) == at(wanted, j + n - 1); ++n)
                if (a.said_wrong.segment(i, n).any() && a.wanted_wrong.segment(j, n).any() &&
                    (a.used(j) <= i || a.used(j) > i + n))
                    found.push_back({i, j, n});
        }
    }
    return found;
}

/// Moves a run before the word `target`, or to the right by `target - start` if the target is
/// within the run or right after it.
Words shifted(Words words, const Run& run, Index target) {
    const auto begin = words.begin() + run.start;
    const Words moved(begin, begin + run.n);
    words.erase(begin, begin + run.n);
    if (target > run.start + run.n) target -= run.n;
    words.insert(words.begin() + std::min(target, std::ssize(words)), moved.begin(), moved.end());
    return words;
}

/// The number of insertions, deletions, replacements and shifts.
Index count_edits(Words said, const Words& wanted) {
    if (wanted.empty()) return std::ssize(said);
    for (Index shifts = 0, tried = 0;; ++shifts) {
        const Alignment a = align(said, wanted);
        // the best shift: what it saves, its length, minus its start, minus its target, its result
        std::tuple<Index, Index, Index, Index, Words> best;
        for (const Run& run : runs(said, wanted, a)) {
            if (tried >= most_tried) break;
            // before and after each word that is aligned with one of the reference's run
            for (Index j = run.wanted - 1, last = -1; j < run.wanted + run.n; ++j) {
                const Index target = j < 0 ? 0 : a.used(j);
                if (target == std::exchange(last, target)) continue;
                const Words words = shifted(said, run, target);
                const Index edits = EditTable(words, wanted)(std::ssize(words), std::ssize(wanted));
                best = std::max(best, {a.edits - edits, run.n, -run.start, -target, words});
                ++tried;
            }
        }
        if (std::get<0>(best) <= 0 || tried >= most_tried) return shifts + a.edits;
        said = std::get<Words>(best);
    }
}

}  // namespace
// [metrics]
Metric chrf_metric(bool lowercase) {
    const auto count = [lowercase](const std::string& hypothesis, const std::string& reference) {
        return lowercase ? count_chrf(lower_case(hypothesis), lower_case(reference))
                         : count_chrf(hypothesis, reference);
    };
    return {"chrF2", fmt::format("case:{}|eff:yes|nc:6|nw:0|space:no", lowercase ? "lc" : "mixed"),
            count, chrf_value};
}

Metric ter_metric() {
    const auto count = [](const std::string& hypothesis, const std::string& reference) {
        const Words said = score_words(lower_case(hypothesis), "none"),
                    wanted = score_words(lower_case(reference), "none");
        return Counts{static_cast<double>(count_edits(said, wanted)), ngrams_in(wanted, 1)};
    };
    const auto value = [](const Counts& sums) {
        return sums[1] > 0 ? 100 * sums[0] / sums[1] : sums[0] > 0 ? 100.0 : 0.0;
    };
    return {"TER", "case:lc|tok:tercom|norm:no|punct:yes|asian:no", count, value};
}

}  // namespace abh
