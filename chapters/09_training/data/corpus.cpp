#include "chapters/09_training/data/corpus.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace abh {
// [vocabulary]
Vocabulary::Vocabulary(const std::vector<std::string>& words) {
    for (const std::string& word : words) add(word);
}

std::int32_t Vocabulary::add(const std::string& word) {
    const auto [place, is_new] = ids_.try_emplace(word, static_cast<std::int32_t>(size()));
    if (is_new) words_.push_back(word);
    return place->second;
}

std::int32_t Vocabulary::id(const std::string& word) const {
    const auto place = ids_.find(word);
    require(place != ids_.end(), "vocabulary: unknown word {}", word);
    return place->second;
}

const std::string& Vocabulary::word(std::int32_t id) const {
    require(id >= 0 && id < size(), "vocabulary: id {} is not in a vocabulary of {} words", id,
            size());
    return words_[static_cast<std::size_t>(id)];
}

std::vector<std::string> split_words(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

std::string join_words(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    return line;
}
// [corpus]
Corpus empty_corpus() {
    Corpus corpus;
    corpus.source = Vocabulary({pad_word});
    corpus.target = Vocabulary({pad_word, start_word, end_word});
    return corpus;
}

void add_words(Corpus& corpus, const SentencePair& pair) {
    for (const std::string& word : pair.source) corpus.source.add(word);
    for (const std::string& word : pair.target) corpus.target.add(word);
}
// [toy]
Corpus toy_corpus() {
    Corpus corpus;
    corpus.source = Vocabulary(split_words("P 我 有 一 个 好 朋 友 零 女 男"));
    corpus.target = Vocabulary(split_words("P I have a good friend zero girl boy S E ."));
    corpus.train = {
        {split_words("我 有 一 个 好 朋 友 P"), split_words("I have a good friend .")},
        {split_words("我 有 零 个 女 朋 友 P"), split_words("I have zero girl friend .")},
        {split_words("我 有 一 个 男 朋 友 P"), split_words("I have a boy friend .")},
    };
    corpus.held_out = {
        {split_words("我 有 一 个 女 朋 友 P"), split_words("I have a girl friend .")}};
    return corpus;
}

Corpus notebook_corpus() {
    Corpus corpus;
    corpus.source = Vocabulary(split_words("P ich mochte ein bier cola"));
    corpus.target = Vocabulary(split_words("P i want a beer coke S E ."));
    corpus.train = {
        {split_words("ich mochte ein bier P"), split_words("i want a beer .")},
        {split_words("ich mochte ein cola P"), split_words("i want a coke .")},
    };
    return corpus;
}
// [batch: pads]
namespace {

/// Puts all numbers that a step reads into one block of memory.
void move_together(Batch& batch) {
    Ids* const parts[] = {&batch.source.ids, &batch.source.packing.offsets, &batch.target_in.ids,
                          &batch.target_in.packing.offsets, &batch.targets};
    Index size = 0;
    for (const Ids* part : parts) size += part->size();
    Ids block({size});
    Index begin = 0;
    for (Ids* part : parts) {
        const Index end = begin + part->size();
        Ids piece = block.rows(begin, end).reshape(part->shape());
        std::ranges::copy(std::as_const(*part).values(), piece.values().begin());
        *part = piece;
        begin = end;
    }
}

}  // namespace

Batch make_batch(const Ids& source, const Ids& target_in, const Ids& target_out, std::int32_t pad) {
    const Packing sources = leave_out_pads(source, pad), targets = leave_out_pads(target_in, pad);
    Batch batch{source, target_in, target_out, target_out};
    if (sources.begins_with_pad < 0 &&
        sources.rows() + targets.rows() < source.size() + target_in.size()) {
        batch.source.packing = sources;
        batch.target_in.packing = targets;
        batch.targets = pack(target_out, targets);
    }
    for (const std::int32_t id : target_out.values()) batch.n_targets += id != pad;
    move_together(batch);
    return batch;
}
// [batch]
Batch make_batch(const Corpus& corpus, std::span<const SentencePair> pairs) {
    std::vector<Index> numbers(pairs.size());
    std::iota(numbers.begin(), numbers.end(), Index{0});
    return make_batch(corpus, pairs, numbers);
}

Batch make_batch(const Corpus& corpus, std::span<const SentencePair> pairs,
                 std::span<const Index> numbers) {
    const auto n = static_cast<Index>(numbers.size());
    const auto pair_at = [&](Index b) -> const SentencePair& {
        return pairs[static_cast<std::size_t>(numbers[static_cast<std::size_t>(b)])];
    };
    Index source_length = 0, target_length = 0;
    for (Index b = 0; b < n; ++b) {
        source_length = std::max<Index>(source_length, std::ssize(pair_at(b).source));
        target_length = std::max<Index>(target_length, std::ssize(pair_at(b).target) + 1);
    }
    const std::int32_t source_pad = corpus.source.id(pad_word), pad = corpus.target.id(pad_word);
    const auto pads = [&](Index length, std::int32_t id) {
        Ids ids({n, length});
        std::fill(ids.values().begin(), ids.values().end(), id);  // on the CPU, where the words are
        return ids;
    };
    Ids source = pads(source_length, source_pad), target_in = pads(target_length, pad),
        target_out = pads(target_length, pad);
    for (Index b = 0; b < n; ++b) {
        const SentencePair& pair = pair_at(b);
        Index i = 0;
        for (const std::string& word : pair.source) source(b, i++) = corpus.source.id(word);
        i = 0;
        target_in(b, 0) = corpus.target.id(start_word);
        for (const std::string& word : pair.target) {
            target_out(b, i) = corpus.target.id(word);
            target_in(b, ++i) = corpus.target.id(word);
        }
        target_out(b, i) = corpus.target.id(end_word);
    }
    return make_batch(source, target_in, target_out, pad);
}

Ids source_ids(const Vocabulary& vocabulary, const std::vector<std::string>& words) {
    require(!words.empty(), "there is no word to translate");
    Ids ids({1, static_cast<Index>(words.size())});
    std::transform(words.begin(), words.end(), ids.values().begin(),
                   [&](const std::string& word) { return vocabulary.id(word); });
    return ids;
}
// [print]
std::string tensor_text(const Ids& ids) {
    require(ids.rank() == 1 || ids.rank() == 2,
            "tensor_text: ids have shape {}, expected [n] or [m, n]", ids.shape());
    std::size_t width = 0;
    for (std::int32_t id : ids.values()) width = std::max(width, std::to_string(id).size());
    if (ids.size() == 0) return "tensor([])";
    const Index n = ids.dim(ids.rank() - 1);
    std::string rows;
    for (Index i = 0; std::int32_t id : ids.values()) {
        rows += i == 0 ? "[" : i % n == 0 ? "],\n        [" : ", ";
        rows += fmt::format("{:>{}}", id, width);
        ++i;
    }
    return ids.rank() == 1 ? fmt::format("tensor({}])", rows) : fmt::format("tensor([{}]])", rows);
}

}  // namespace abh
