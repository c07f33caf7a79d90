#include "chapters/13_real_translation/subwords/subwords.hpp"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <numeric>
#include <regex>
#include <unordered_map>

#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/subwords/subword_model.hpp"
#include "lib/random.hpp"

namespace abh {
// [train]
namespace {

constexpr std::size_t max_sentences = 1'000'000;

/// Which sentences to learn from: all, or as many as are enough to count pairs in.
std::vector<Index> choose(std::size_t n, std::uint64_t seed) {
    std::vector<Index> numbers(n);
    std::iota(numbers.begin(), numbers.end(), Index{0});
    if (n <= max_sentences) return numbers;
    Random random(seed);
    shuffle(numbers, random.stream());
    numbers.resize(max_sentences);
    return numbers;
}

/// Sentences in the form in which SentencePiece asks for them.
class Sentences : public sentencepiece::SentenceIterator {
public:
    Sentences(std::span<const std::string> sentences, std::uint64_t seed)
        : sentences_(sentences), numbers_(choose(sentences.size(), seed)) {}
    bool done() const override { return at_ == numbers_.size(); }
    void Next() override { ++at_; }
    const std::string& value() const override {
        return sentences_[static_cast<std::size_t>(numbers_[at_])];
    }
    sentencepiece::util::Status status() const override { return {}; }

private:
    std::span<const std::string> sentences_;
    std::vector<Index> numbers_;
    std::size_t at_ = 0;
};

std::unordered_map<std::string, std::string> training_options(Index n_pieces, bool byte_fallback) {
    return {{"model_type", "bpe"},
            {"vocab_size", std::to_string(n_pieces)},
            {"hard_vocab_limit", "false"},  // a short text has fewer pieces
            {"byte_fallback", byte_fallback ? "true" : "false"},
            {"character_coverage", byte_fallback ? "0.9995" : "1"},
            {"pad_id", "0"},
            {"unk_id", "1"},
            {"bos_id", "2"},
            {"eos_id", "3"},
            {"normalization_rule_name", "identity"},  // text is in NFC already
            {"remove_extra_whitespaces", "false"},    // nothing may be lost
            {"max_sentence_length", std::to_string(1 << 20)},
            {"num_threads", "1"},
            {"minloglevel", "2"}};  // errors come as a status
}

/// What the library says. Where it advises options of its own program, what to do here.
std::string reason_of(const std::string& message) {
    static const std::regex too_few("smaller than required_chars.* vs ([0-9]+)");
    std::smatch found;
    if (!std::regex_search(message, found, too_few)) return printable(message);
    return fmt::format("symbols, bytes and characters alone need {0}; take {0} at least (--pieces)",
                       found.str(1));
}

}  // namespace

Subwords Subwords::train(std::span<const std::string> sentences, Index n_pieces, std::uint64_t seed,
                         bool byte_fallback) {
    require(!sentences.empty(), "subwords: there is no sentence to learn from");
    for (const std::string& sentence : sentences)
        require(is_utf8(sentence), "subwords: not UTF-8: {}", printable(sentence, 60));
    Sentences chosen(sentences, seed);
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        training_options(n_pieces, byte_fallback), &chosen, &model);
    require(status.ok(), "subwords: {} sentences do not give {} pieces: {}", sentences.size(),
            n_pieces, reason_of(status.ToString()));
    return Subwords(std::move(model));
}
// [load]
Subwords::Subwords(std::string model) : model_(std::move(model)) {
    require_sound_model(model_);
    const auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
    std::string reason;
    try {
        const auto status = processor->LoadFromSerializedProto(model_);
        if (!status.ok()) reason = status.ToString();
    } catch (const std::exception& error) {
        reason = error.what();
    }
    if (!reason.empty())
        throw std::runtime_error("no SentencePiece model: " + printable(reason, 200));
    processor_ = processor;
}
// [encode]
namespace {

using Processor = sentencepiece::SentencePieceProcessor;

void require_text(const std::string& text) {
    const std::size_t bad = find_bad_utf8(text);
    require(bad == text.npos, "subwords: byte {} is not UTF-8: {}", bad + 1, printable(text, 60));
}

void require_ok(const sentencepiece::util::Status& status) {
    require(status.ok(), "subwords: {}", printable(status.ToString(), 200));
}

/// A sequence in which each `part` has become `other`.
template <class Sequence>
Sequence replaced(const Sequence& sequence, const Sequence& part, const Sequence& other) {
    Sequence result;
    auto rest = sequence.begin();
    for (;;) {
        const auto found = std::search(rest, sequence.end(), part.begin(), part.end());
        result.insert(result.end(), rest, found);
        if (found == sequence.end()) return result;
        result.insert(result.end(), other.begin(), other.end());
        rest = found + static_cast<std::ptrdiff_t>(part.size());
    }
}

std::vector<std::int32_t> encode_bytes(const Processor& processor, const std::string& bytes) {
    std::vector<std::int32_t> ids;
    for (const char byte : bytes)
        ids.push_back(
            processor.PieceToId(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte))));
    return ids;
}

/// A character that neither the text nor any piece holds, and which so becomes bytes.
std::string find_stand_in(const Processor& processor, const std::string& text) {
    char32_t code = 0x100000;  // private use
    std::string character = utf8({&code, 1});
    while (text.find(character) != text.npos ||
           !processor.IsUnknown(processor.PieceToId(character))) {
        ++code;
        character = utf8({&code, 1});
    }
    return character;
}

}  // namespace

std::vector<std::int32_t> Subwords::encode(const std::string& text) const {
    static const std::string mark = "▁";  // means a space in pieces; in a text it means itself
    require_text(text);
    std::vector<int> ids;
    const bool has_bytes = processor_->IsByte(processor_->PieceToId("<0x00>"));
    if (!has_bytes || text.find(mark) == text.npos) {
        require_ok(processor_->Encode(text, &ids));
        return ids;
    }
    const std::string stand_in = find_stand_in(*processor_, text);
    require_ok(processor_->Encode(replaced(text, mark, stand_in), &ids));
    return replaced(ids, encode_bytes(*processor_, stand_in), encode_bytes(*processor_, mark));
}

std::vector<std::string> Subwords::pieces(const std::string& text) const {
    require_text(text);
    std::vector<std::string> found;
    require_ok(processor_->Encode(text, &found));
    return found;
}
// [decode]
std::string Subwords::decode(std::span<const std::int32_t> ids) const {
    for (const std::int32_t id : ids)
        require(id >= 0 && id < size(), "subwords: id {} among {} pieces", id, size());
    std::string text;
    require_ok(processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text));
    return text;
}

std::string Subwords::join(const std::vector<std::string>& pieces) const {
    for (const std::string& piece : pieces) require_text(piece);
    std::string text;
    require_ok(processor_->Decode(pieces, &text));
    return text;
}

std::string Subwords::piece(std::int32_t id) const {
    require(id >= 0 && id < size(), "subwords: id {} among {} pieces", id, size());
    return processor_->IdToPiece(id);
}

Index Subwords::size() const {
    return processor_->GetPieceSize();
}
std::int32_t Subwords::pad() const {
    return processor_->pad_id();
}
std::int32_t Subwords::unknown() const {
    return processor_->unk_id();
}
std::int32_t Subwords::start() const {
    return processor_->bos_id();
}
std::int32_t Subwords::end() const {
    return processor_->eos_id();
}

}  // namespace abh
