#include "chapters/13_real_translation/subwords/subwords.hpp"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <regex>
#include <unordered_map>

#include "lib/io/files.hpp"
#include "lib/io/text.hpp"

namespace abh {
// [train]
namespace {

void require_text(const std::string& text) {
    const std::size_t bad = find_bad_utf8(text);
    require(bad == text.npos, "subwords: byte {} is not UTF-8: {}", bad + 1, printable(text, 60));
}

void require_ok(const sentencepiece::util::Status& status) {
    require(status.ok(), "subwords: {}", printable(status.ToString(), 200));
}

/// The sentences as the iterator that SentencePiece asks for: all of up to a million, but of more
/// only every second, third, ..., which are enough to count pairs in.
struct SomeSentences : sentencepiece::SentenceIterator {
    std::span<const std::string> all;
    std::size_t at = 0;

    bool done() const override { return at >= all.size(); }
    void Next() override { at += 1 + all.size() / 1'000'001; }
    const std::string& value() const override { return all[at]; }
    sentencepiece::util::Status status() const override { return {}; }
};

std::unordered_map<std::string, std::string> training_options(Index n_pieces, bool byte_fallback) {
    return {{"model_type", "bpe"},
            {"vocab_size", std::to_string(n_pieces)},
            {"hard_vocab_limit", "false"},  // a short text gives fewer pieces
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
            {"minloglevel", "2"}};  // errors are returned as a status
}

/// The library's message, or what to do here where it recommends options of its own program.
std::string reason_of(const std::string& message) {
    static const std::regex too_few("smaller than required_chars.* vs ([0-9]+)");
    std::smatch found;
    if (!std::regex_search(message, found, too_few)) return message;
    return fmt::format("symbols, bytes and characters take {0}; ask for at least {0} (--pieces)",
                       found.str(1));
}

}  // namespace

Subwords Subwords::train(std::span<const std::string> sentences, Index n_pieces,
                         bool byte_fallback) {
    require(!sentences.empty(), "subwords: there are no sentences to learn from");
    for (const std::string& sentence : sentences) require_text(sentence);
    SomeSentences chosen;
    chosen.all = sentences;
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        training_options(n_pieces, byte_fallback), &chosen, &model);
    require(status.ok(), "subwords: {} sentences cannot give {} pieces: {}", sentences.size(),
            n_pieces, reason_of(status.ToString()));
    return Subwords(std::move(model));
}
// [load]
Subwords::Subwords(std::string model) : model_(std::move(model)) {
    require_sound_model(model_);
    const auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
    const auto status = processor->LoadFromSerializedProto(model_);
    if (!status.ok())
        throw std::runtime_error("not a SentencePiece model: " + printable(status.ToString(), 200));
    processor_ = processor;
}

Subwords load_subwords(const std::filesystem::path& path) {
    const std::string model = read_file(path, largest_model);
    try {
        return Subwords(model);
    } catch (const std::exception& error) {
        throw std::runtime_error(fmt::format("{}: {}", path.string(), error.what()));
    }
}
// [encode]
std::vector<std::int32_t> Subwords::encode(const std::string& text) const {
    require_text(text);
    std::vector<int> ids;
    require_ok(processor_->Encode(text, &ids));
    return ids;
}

std::vector<std::string> Subwords::pieces(const std::string& text) const {
    require_text(text);
    std::vector<std::string> found;
    require_ok(processor_->Encode(text, &found));
    return found;
}
// [decode]
namespace {

void require_piece(std::int32_t id, Index pieces) {
    require(id >= 0 && id < pieces, "subwords: id {} is outside the vocabulary of {} pieces", id,
            pieces);
}

}  // namespace

std::string Subwords::decode(std::span<const std::int32_t> ids) const {
    for (const std::int32_t id : ids) require_piece(id, size());
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
    require_piece(id, size());
    return processor_->IdToPiece(id);
}

Index Subwords::size() const {
    return processor_->GetPieceSize();
}

Symbols Subwords::symbols() const {
    return {processor_->pad_id(), processor_->bos_id(), processor_->eos_id()};
}

}  // namespace abh
