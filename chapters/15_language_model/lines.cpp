#include "chapters/15_language_model/lines.hpp"

#include <algorithm>

namespace abh {
// [lines]
std::vector<std::string> line_of(const SentencePair& pair) {
    std::vector<std::string> line;
    for (const std::string& word : pair.source)
        if (word != pad_word) line.push_back(word);
    line.push_back(arrow_word);
    line.insert(line.end(), pair.target.begin(), pair.target.end());
    line.push_back(end_word);
    return line;
}
// [lines: vocabulary]
Vocabulary line_vocabulary(const Corpus& corpus) {
    Vocabulary words({pad_word, arrow_word, end_word});
    for (const Vocabulary* language : {&corpus.source, &corpus.target})
        for (const std::string& word : language->words())
            if (word != start_word) words.add(word);
    return words;
}
// [batch]
LineBatch make_line_batch(const Vocabulary& words, std::span<const SentencePair> pairs,
                          std::span<const Index> numbers, Counted counted) {
    require(!numbers.empty(), "a batch of no lines");
    std::vector<std::vector<std::string>> lines;
    std::size_t longest = 0;
    for (const Index n : numbers) {
        lines.push_back(line_of(pairs[static_cast<std::size_t>(n)]));
        longest = std::max(longest, lines.back().size());
    }
    const Shape shape{std::ssize(lines), static_cast<Index>(longest) - 1};
    Ids read = Ids::zeros(shape), targets = Ids::zeros(shape);
    LineBatch batch;
    for (std::size_t b = 0; b < lines.size(); ++b) {
        bool counts = counted == Counted::all;
        for (std::size_t t = 0; t + 1 < lines[b].size(); ++t) {
            const std::string &word = lines[b][t], &next = lines[b][t + 1];
            const auto row = static_cast<Index>(b), place = static_cast<Index>(t);
            auto &reads = read(row, place), &target = targets(row, place);
            // [batch: one word]
            if (word == arrow_word) counts = true;
            reads = words.id(word);
            if (counts) target = words.id(next);
            // [batch: end]
            batch.n_targets += counts;
        }
    }
    batch.read = Sentences(read, leave_out_pads(read));
    batch.targets = pack(targets, batch.read.packing);
    return batch;
}

}  // namespace abh
