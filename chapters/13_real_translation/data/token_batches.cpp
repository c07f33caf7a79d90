#include "chapters/13_real_translation/data/token_batches.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace abh {
// [cut]
namespace {

/// Sorts pairs by length, and cuts them wherever a batch would have too many words.
void add_batches(std::span<const IdPair> pairs, Index tokens, std::vector<Index> window,
                 std::vector<std::vector<Index>>& batches) {
    std::ranges::stable_sort(window, {}, [&](Index number) {  // equal lengths stay in random order
        const IdPair& pair = pairs[static_cast<std::size_t>(number)];
        return std::pair(pair.target.size(), pair.source.size());
    });
    Index words = tokens;
    for (const Index number : window) {
        const Index more = count_words(pairs[static_cast<std::size_t>(number)]);
        words += more;
        if (words > tokens) {
            batches.emplace_back();
            words = more;
        }
        batches.back().push_back(number);
    }
}

std::vector<Index> shuffled(std::size_t n, const Stream& stream) {
    std::vector<Index> numbers(n);
    std::iota(numbers.begin(), numbers.end(), Index{0});
    shuffle(numbers, stream);
    return numbers;
}

}  // namespace
// [batches]
std::vector<std::vector<Index>> token_batches(std::span<const IdPair> pairs, Index tokens,
                                              std::uint64_t seed, Index epoch) {
    require(!pairs.empty(), "batches: there are no pairs to train on");
    Random random(seed);
    const Stream of_pairs = random.stream(), of_batches = random.stream();
    random.go_to(static_cast<std::uint64_t>(epoch));
    std::vector<std::vector<Index>> by_length, batches;
    std::vector<Index> window;  // random pairs, which are then sorted by length
    Index words = 0;
    for (const Index number : shuffled(pairs.size(), of_pairs)) {
        const Index more = count_words(pairs[static_cast<std::size_t>(number)]);
        require(more <= tokens,
                "batches: pair {} has {} words with its symbols, but a batch takes {}", number,
                more, tokens);
        window.push_back(number);
        words += more;
        if (words < 64 * tokens) continue;
        add_batches(pairs, tokens, std::exchange(window, {}), by_length);
        words = 0;
    }
    add_batches(pairs, tokens, window, by_length);
    for (const Index i : shuffled(by_length.size(), of_batches))
        batches.push_back(std::move(by_length[static_cast<std::size_t>(i)]));
    return batches;
}
// [a batch]
namespace {

/// Rows of equal length: `first`, if given, the words, `last`, if given, and pads.
Ids padded(std::span<const std::vector<std::int32_t>* const> rows,
           std::optional<std::int32_t> first, std::optional<std::int32_t> last, std::int32_t pad) {
    std::size_t longest = 0;
    for (const auto* words : rows) longest = std::max(longest, words->size() + 1);
    Ids ids({static_cast<Index>(rows.size()), static_cast<Index>(longest)});
    std::ranges::fill(ids.values(), pad);
    auto row = ids.values().begin();
    for (const auto* words : rows) {
        auto at = row;
        if (first) *at++ = *first;
        at = std::ranges::copy(*words, at).out;
        if (last) *at = *last;
        row += static_cast<std::ptrdiff_t>(longest);
    }
    return ids;
}

}  // namespace

Ids source_batch(std::span<const std::vector<std::int32_t>* const> sentences,
                 const Symbols& symbols) {
    return padded(sentences, {}, symbols.end, symbols.pad);
}

Batch make_batch(std::span<const IdPair> pairs, std::span<const Index> numbers,
                 const Symbols& symbols) {
    std::vector<const std::vector<std::int32_t>*> sources, targets;
    for (const Index number : numbers) {
        require(number >= 0 && number < static_cast<Index>(pairs.size()),
                "batch: there is no pair {} among {}", number, pairs.size());
        const IdPair& pair = pairs[static_cast<std::size_t>(number)];
        sources.push_back(&pair.source);
        targets.push_back(&pair.target);
    }
    return make_batch(source_batch(sources, symbols),
                      padded(targets, symbols.start, {}, symbols.pad),
                      padded(targets, {}, symbols.end, symbols.pad), symbols.pad);
}

}  // namespace abh
