#include "judge/answer/cases.hpp"

#include <algorithm>
#include <numeric>

using namespace abh;
using namespace abh::judge;

namespace {

/// The number of places in each batch, if sentences come in this order of lengths.
Ids places(const std::vector<Index>& lengths, Index batch_size) {
    const Index n = static_cast<Index>(lengths.size());
    Ids result({(n + batch_size - 1) / batch_size});
    for (Index i = 0; i < result.size(); ++i) {
        const auto first = lengths.begin() + i * batch_size,
                   last = lengths.begin() + std::min(n, (i + 1) * batch_size);
        result(i) = static_cast<std::int32_t>((last - first) * *std::max_element(first, last));
    }
    return result;
}

void add(Cases& cases, const char* criterion, const char* call, const std::vector<Index>& lengths,
         Index batch_size) {
    const Index n = static_cast<Index>(lengths.size()),
                width = n > 0 ? *std::max_element(lengths.begin(), lengths.end()) : 1;
    Ids sources = Ids::zeros({n, width}), right = Ids::zeros({n, width});
    const Ids drawn = cases.ids({n, width}, 90);
    for (Index i = 0; i < n; ++i)
        for (Index t = 0; t < lengths[static_cast<std::size_t>(i)]; ++t) {
            sources(i, t) = drawn(i, t) + 1;
            right(i, lengths[static_cast<std::size_t>(i)] - 1 - t) = drawn(i, t) + 101;
        }
    std::vector<std::size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return lengths[a] < lengths[b]; });
    std::vector<Index> sorted = lengths, falling;
    std::sort(sorted.begin(), sorted.end());
    falling.assign(sorted.rbegin(), sorted.rend());
    Ids by_length(right.shape());
    for (Index i = 0; i < n; ++i)
        for (Index t = 0; t < width; ++t)
            by_length(i, t) = right(static_cast<Index>(order[static_cast<std::size_t>(i)]), t);
    const std::string name = call;
    Case c{.criterion = criterion,
           .call = name,
           .arguments = values(sources, batch_size),
           .results = values(right),
           .tolerance = 0,
           .about = fmt::format("{} sentences in batches of {}", n, batch_size),
           .names = {"sources", "batch_size", "the translations"},
           .mistakes = {
               {"the translations are in the order of their lengths instead of that of sources",
                values(by_length)}}};
    if (name == "both") {
        c.results = values(right, places(sorted, batch_size));
        c.names.push_back("the places of the batches");
        c.mistakes.clear();
    }
    if (name == "batches") {
        Ids widest = places(sorted, batch_size);
        for (Index i = 0; i < widest.size(); ++i)
            widest(i) = static_cast<std::int32_t>(std::min(batch_size, n - i * batch_size) * width);
        c.results = values(places(sorted, batch_size));
        c.names.back() = "the places of the batches";
        c.mistakes = {
            {"the sentences are not sorted by length", values(places(lengths, batch_size))},
            {"the longest sentences come first, but the shortest should",
             values(places(falling, batch_size))},
            {"a batch should be as wide as its own longest sentence, not as the longest of all",
             values(widest)}};
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto drawn = [&](Index n, Index longest) {
        std::vector<Index> lengths;
        for (Index i = 0; i < n; ++i) lengths.push_back(cases.between(1, longest));
        lengths.front() = longest, lengths.back() = 1;  // never sorted by chance
        return lengths;
    };
    const std::vector<Index> few{5, 1, 4, 2};
    for (const auto& [criterion, call] : {std::pair{"translations in their order", "translations"},
                                          std::pair{"as few pads as can be", "batches"}}) {
        add(cases, criterion, call, few, 2);
        add(cases, criterion, call, drawn(11, 9), 4);
        add(cases, criterion, call, drawn(60, 30), 7);
    }
    const char* const edge = "few sentences, and none";
    add(cases, edge, "both", {}, 3);
    add(cases, edge, "both", {4}, 3);
    add(cases, edge, "both", {2, 3, 3}, 8);
    add(cases, edge, "both", {1, 2, 6}, 1);
}
