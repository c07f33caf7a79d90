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
// [ask]
/// For each word of a line but the last: what its row reads, and what it must say.
static void ask(const std::vector<std::string>& line, const Vocabulary& words, bool counts,
                std::span<std::int32_t> reads, std::span<std::int32_t> targets) {
    for (std::size_t t = 0; t + 1 < line.size(); ++t) {
        const std::string &word = line[t], &next = line[t + 1];
        if (word == arrow_word) counts = true;
        reads[t] = words.id(word);
        if (counts) targets[t] = words.id(next);
    }
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
    const std::size_t length = longest - 1;
    const Shape shape{std::ssize(lines), static_cast<Index>(length)};
    Ids reads = Ids::zeros(shape), targets = Ids::zeros(shape);
    for (std::size_t b = 0; b < lines.size(); ++b)
        ask(lines[b], words, counted == Counted::all, reads.values().subspan(b * length, length),
            targets.values().subspan(b * length, length));
    LineBatch batch;
    batch.read = Sentences(reads, leave_out_pads(reads));
    batch.targets = pack(targets, batch.read.packing);
    for (const std::int32_t id : targets.values()) batch.n_targets += id != 0;
    return batch;
}

}  // namespace abh
