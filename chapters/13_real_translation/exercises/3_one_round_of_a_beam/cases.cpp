#include "judge/answer/cases.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace abh;
using namespace abh::judge;

namespace {

/// Which of equal candidates comes first.
enum class Ties { right, later_prefix, first_word, later_word };

/// What a round may do wrong.
struct Slips {
    bool no_sums = false;         ///< candidates are ranked by their last word alone
    bool ends_anywhere = false;   ///< what ends is set aside, whatever its rank
    bool ends_take_room = false;  ///< what ends counts among the k that go on
    bool normalize_all = false;   ///< sums of those that go on are divided, too
    bool raw = false;             ///< scores are sums
    Index other_length = 0;       ///< is added to the length
    Ties ties = Ties::right;
};

template <class T>
BasicTensor<T> tensor(const std::vector<T>& numbers) {
    BasicTensor<T> t({static_cast<Index>(numbers.size())});
    std::copy(numbers.begin(), numbers.end(), t.data());
    return t;
}

Values round_of(const Tensor& sums, const Tensor& log_p, Index k, std::int32_t end, Index length,
                Real alpha, const Slips& slips = {}) {
    struct Candidate {
        Real sum;
        std::int32_t parent, word;
    };
    std::vector<Candidate> all;
    for (std::int32_t i = 0; i < log_p.dim(0); ++i)
        for (std::int32_t j = 0; j < log_p.dim(1); ++j)
            all.push_back({(slips.no_sums ? 0 : sums(i)) + log_p(i, j), i, j});
    const auto place = [&](const Candidate& c) {
        switch (slips.ties) {
            case Ties::later_prefix:
                return std::pair(-c.parent, -c.word);
            case Ties::first_word:
                return std::pair(c.word, c.parent);
            case Ties::later_word:
                return std::pair(c.parent, -c.word);
            default:
                return std::pair(c.parent, c.word);
        }
    };
    std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
        return a.sum != b.sum ? a.sum > b.sum : place(a) < place(b);
    });
    const Real divisor = std::pow(static_cast<Real>(length + slips.other_length), alpha);
    std::vector<std::int32_t> parents, words, ended;
    std::vector<Real> on, scores;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const Candidate& c = all[rank];
        const bool among = static_cast<Index>(rank) < k;
        if (c.word == end && (among || slips.ends_anywhere)) {
            ended.push_back(c.parent);
            scores.push_back(slips.raw ? c.sum : c.sum / divisor);
        }
        const bool room = slips.ends_take_room ? among : static_cast<Index>(on.size()) < k;
        if (c.word == end || !room) continue;
        parents.push_back(c.parent);
        words.push_back(c.word);
        on.push_back(slips.normalize_all ? c.sum / divisor : c.sum);
    }
    return values(tensor(parents), tensor(words), tensor(on), tensor(ended), tensor(scores));
}

/// Logarithms of probabilities: each row of `z` less the logarithm of its sum of exponentials.
Tensor log_softmax(Tensor z) {
    for (Index i = 0; i < z.dim(0); ++i) {
        Real sum = 0;
        for (Index j = 0; j < z.dim(1); ++j) sum += std::exp(z(i, j));
        for (Index j = 0; j < z.dim(1); ++j) z(i, j) -= std::log(sum);
    }
    return z;
}

void add(Cases& cases, const char* criterion, const Tensor& sums, const Tensor& log_p, Index k,
         std::int32_t end, Index length, Real alpha) {
    const auto with = [&](const Slips& slips) {
        return round_of(sums, log_p, k, end, length, alpha, slips);
    };
    Slips no_sums, ends_anywhere, ends_take_room, normalize_all, raw, one_less;
    no_sums.no_sums = ends_anywhere.ends_anywhere = ends_take_room.ends_take_room = true;
    normalize_all.normalize_all = raw.raw = true;
    one_less.other_length = -1;
    std::vector<Mistake> mistakes{
        {"candidates are ranked by the last word alone: add the sum of the prefix", with(no_sums)},
        {"what ends is set aside only if it is among the first k", with(ends_anywhere)},
        {"what ends takes no place among the k that go on", with(ends_take_room)},
        {"the sums of those that go on are not divided", with(normalize_all)},
        {"the score is the sum, but should be divided by the length to the power alpha",
         with(raw)}};
    const std::pair<Ties, const char*> ties[] = {
        {Ties::later_word, "among equal candidates of one prefix, the first word comes first"},
        {Ties::later_prefix,
         "among equal candidates, that of the earlier prefix comes first: sort stably"},
        {Ties::first_word,
         "among equal candidates, the prefix decides, and the word only within one prefix"}};
    for (const auto& [rule, says] : ties) {
        Slips slips;
        slips.ties = rule;
        mistakes.push_back({says, with(slips)});
    }
    if (length > 1) mistakes.push_back({"the end symbol counts in the length", with(one_less)});
    cases.add({.criterion = criterion,
               .call = "beam_round",
               .arguments = values(sums, log_p, k, end, length, alpha),
               .results = with({}),
               .about = fmt::format("log_p {}, k = {}", log_p.shape(), k),
               .names = {"sums", "log_p", "k", "end", "length", "alpha", "parents", "words",
                         "the sums that go on", "ended", "scores"},
               .mistakes = mistakes});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto drawn = [&](Index n, Index n_words, std::int32_t end, double of_end) {
        Tensor z = cases.normal({n, n_words});
        for (Index i = 0; i < n && end >= 0; ++i) z(i, end) += static_cast<Real>(of_end);
        return log_softmax(z);
    };
    const auto logs = [](const Shape& shape, std::initializer_list<double> p) {
        Tensor t(shape);
        std::transform(p.begin(), p.end(), t.data(),
                       [](double x) { return static_cast<Real>(std::log(x)); });
        return t;
    };
    const Tensor none({1}, {0});
    // These two groups have no end symbol, because -1 is no word.
    const char* const one = "one prefix";
    add(cases, one, none, logs({1, 3}, {0.5, 0.4, 0.1}), 2, -1, 1, 0);
    add(cases, one, none, drawn(1, 7, -1, 0), 3, -1, 1, 0);
    add(cases, one, none, drawn(1, 4, -1, 0), 9, -1, 1, 0);  // fewer words than k
    add(cases, one, none, drawn(1, 1, -1, 0), 1, -1, 1, 0);
    const char* const several = "several prefixes";
    add(cases, several, Tensor({2}, {-1, -2}), drawn(2, 5, -1, 0), 2, -1, 3, 0);
    add(cases, several, Tensor({4}, {-1, Real(-1.5), -4, -5}), drawn(4, 9, -1, 0), 4, -1, 3, 0);
    add(cases, several, Tensor({3}, {-1, -1, -1}), logs({3, 2}, {.5, .5, .5, .5, .5, .5}), 3, -1, 3,
        0);  // equal ones
    const char* const ends = "what ends";
    add(cases, ends, logs({2}, {0.5, 0.4}), logs({2, 3}, {.3, .3, .4, .05, .05, .9}), 2, 2, 2, 0);
    for (const Index n : {2, 3, 5})
        add(cases, ends, cases.uniform({n}, -2, -1), drawn(n, 6, 1, 1.5), n, 1, 4, 0);
    add(cases, ends, none, logs({1, 3}, {0.2, 0.3, 0.5}), 1, 2, 1, 0);
    add(cases, ends, none, logs({1, 3}, {0.2, 0.5, 0.3}), 1, 2, 1, 0);  // after the first
    for (const Real alpha : {Real(0.6), Real(1)})                       // all that ends comes first
        add(cases, "scores", cases.uniform({3}, -2, -1), drawn(3, 6, 1, 9), 3, 1,
            cases.between(2, 9), alpha);
    add(cases, "scores", none, logs({1, 3}, {0.2, 0.3, 0.5}), 2, 2, 1, 1);
}
