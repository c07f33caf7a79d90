#include "chapters/13_real_translation/practice/training_data.hpp"

#include <algorithm>

#include "lib/io/text.hpp"

namespace abh {
// [text]
RunText read_text(const TrainOptions& options, Results& results) {
    std::string said;
    const auto read = [&](const std::string& files, const CleanOptions& clean,
                          std::string* beside = nullptr) {
        CleanCounts counts;
        auto pairs = read_pairs(PairFiles::parse(files), clean, &counts);
        const std::string summary = fmt::format("{}: {}\n", printable(files), counts.summary());
        if (beside && counts.kept < counts.read()) *beside = "scored: " + summary;
        said += summary;
        return pairs;
    };
    RunText text;
    ParallelText& parts = text;
    if (options.train.empty()) {
        require(options.dev.empty() && options.test.empty(),
                "--dev and --test need pairs of --train");
        CleanCounts counts;
        parts = tatoeba(&counts);
        said = counts.summary() + "\n";
    } else {
        text.train = read(options.train, {});
        const Index some = std::min<Index>(1000, static_cast<Index>(text.train.size()) / 10);
        if (options.dev.empty())
            parts = split_pairs(text.train, some, options.test.empty() ? some : 0);
        else
            text.dev = read(options.dev, CleanOptions::every(), &text.beside_dev);
        require(!text.dev.empty(),
                "no pairs to choose by: give some with --dev, or at least ten with --train");
        if (!options.test.empty())
            text.test = read(options.test, CleanOptions::every(), &text.beside_test);
    }
    section("Data");
    fmt::print("{}{} to train on, {} to choose by, {} to report on\n", said, text.train.size(),
               text.dev.size(), text.test.size());
    results.set("train_pairs", static_cast<double>(text.train.size()));
    results.set("dev_pairs", static_cast<double>(text.dev.size()));
    results.set("test_pairs", static_cast<double>(text.test.size()));
    return text;
}
// [subwords]
std::pair<Subwords, Subwords> learn_subwords(const std::vector<TextPair>& train, Index n_pieces,
                                             bool shared) {
    if (shared) {
        const Subwords both = Subwords::train(both_sides(train), n_pieces);
        return {both, both};
    }
    return {Subwords::train(sources(train), n_pieces), Subwords::train(targets(train), n_pieces)};
}
// [encode]
TranslationData encode_text(const RunText& text, const Subwords& source, const Subwords& target,
                            Index longest) {
    const std::size_t most = static_cast<std::size_t>(longest) - 1;  // and the end symbol
    TranslationData data;
    const auto ids_of = [&](const TextPair& pair) {
        return IdPair{source.encode(pair.source), target.encode(pair.target)};
    };
    const auto fits = [&](const IdPair& ids) {
        return std::max(ids.source.size(), ids.target.size()) <= most;
    };
    for (const TextPair& pair : text.train) {
        IdPair ids = ids_of(pair);
        if (fits(ids))
            data.train.push_back(std::move(ids));
        else
            ++data.too_long;
    }
    const auto held_out = [&](const std::vector<TextPair>& pairs, const std::string& beside) {
        HeldOut all{{}, sources(pairs), targets(pairs), beside};
        Index cut = 0;
        for (const TextPair& pair : pairs) {
            IdPair& ids = all.ids.emplace_back(ids_of(pair));
            cut += !fits(ids);
            ids.source.resize(std::min(ids.source.size(), most));
            ids.target.resize(std::min(ids.target.size(), most));
        }
        if (cut > 0)
            all.beside += fmt::format("cut to the {} pieces that the model takes: {} of {} pairs\n",
                                      most, cut, pairs.size());
        return all;
    };
    data.dev = held_out(text.dev, text.beside_dev);
    data.test = held_out(text.test, text.beside_test);
    return data;
}

}  // namespace abh
