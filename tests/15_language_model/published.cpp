// Once: models as others publish them, in files of transformers and in GGUF.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "chapters/09_training/loss/loss.hpp"
#include "chapters/15_language_model/published_commands.hpp"
#include "lib/io/files.hpp"
#include "lib/io/safetensors.hpp"
#include "tests/support.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

const fs::path gguf_model = fs::path(ABH_GOLDEN) / "llama.gguf",
               three_heads = fs::path(ABH_GOLDEN) / "llama/three_key_heads";

using Text = std::vector<std::int32_t>;

Ids as_ids(const Text& pieces) {
    Ids ids({1, std::ssize(pieces)});
    std::ranges::copy(pieces, ids.data());
    return ids;
}

template <class F>
std::string refused_because(const F& f) {
    try {
        f();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "accepted";
}

/// The message with which a config.json is refused that differs from the folder's in one
/// field.
std::string refused_with(const std::string& name, const nlohmann::json& value) {
    auto config = nlohmann::json::parse(read_file(three_heads / "config.json"));
    config[name] = value;
    const fs::path path = fs::temp_directory_path() / "abh_config.json";
    AtomicFile file(path);
    file.write(config.dump());
    file.commit();
    return refused_because([&] { published_options(notes_of_json(path), true, Pairing::halves); });
}

/// Likewise for a note of the GGUF file; no value removes it.
std::string refused_note(const std::string& name, std::optional<Note> value) {
    auto notes = open_gguf(gguf_model).notes;
    notes.erase(name);
    if (value) notes[name] = *value;
    return refused_because([&] { published_options(notes, true, Pairing::neighbors); });
}

}  // namespace

TEST_CASE("a GGUF file holds the same model as the folder that it was made from") {
    const Published p = load_published(gguf_model);
    const TensorFile expected = load_safetensors(three_heads / "expected.safetensors");
    Ids prompt({1, 5});
    std::ranges::transform(expected.tensors.at("prompt").values(), prompt.data(),
                           [](Real v) { return static_cast<std::int32_t>(v); });
    const Tensor logits = p.model.output.forward(p.model.forward(prompt));
    CHECK(max_difference(logits, expected.tensors.at("logits")) < 1e-4);
    CHECK(p.end == 1);
    CHECK(p.weight_bytes == 4 * (23 * 24 + 2 * (24 * (24 + 12 + 12 + 24) + 3 * 13 * 24 + 48) + 24));
}

TEST_CASE("a prompt that is read at once gives the logits of one that is read word by word") {
    const Published p = load_published(gguf_model);
    const Text text{3, 1, 4, 1, 5, 9, 2, 6, 5};
    Continuation at_once(p.model), one_by_one(p.model, 9);
    Tensor last;
    for (const std::int32_t word : text) last = one_by_one.next(word);
    CHECK(max_difference(at_once.next(text), last) < 1e-5);  // logits are about 5
    CHECK(max_difference(at_once.next(Text{7, 7}), last) > 0.1);
    CHECK(refused_because([&] { one_by_one.next(1); }) ==
          "the text has 9 words, and the model's context is full");
    CHECK(refused_because([&] { one_by_one.next(Text{}); }) ==
          "a text without words has nothing to continue");
    CHECK_THAT(refused_because([&] { at_once.next(23); }), Contains("word 23 of 23"));
}

TEST_CASE("the surprise of a text is the cross entropy of its words, window by window") {
    const Published p = load_published(gguf_model);
    const Text text{3, 1, 4, 1, 5, 9, 2};
    const auto of = [&](Text part) {
        const Tensor logits =
            p.model.output.forward(p.model.forward(as_ids({part.begin(), part.end() - 1})));
        return cross_entropy(logits, as_ids({part.begin() + 1, part.end()}), {.ignore = -1}) *
               static_cast<double>(part.size() - 1);
    };
    CHECK(mean_surprise(p.model, text, 7) == Approx(of(text) / 6).epsilon(1e-6));
    CHECK(mean_surprise(p.model, text, 5) ==
          Approx((of({3, 1, 4, 1, 5}) + of({5, 9, 2})) / 6).epsilon(1e-6));
    CHECK_THAT(refused_because([&] { mean_surprise(p.model, text, 65); }),
               Contains("expected 2 to 64"));
    CHECK_THAT(refused_because([&] { mean_surprise(p.model, Text{1}, 2); }),
               Contains("at least 2"));
}

TEST_CASE("a piece of the template's in somebody's message is only text") {
    const Published p = load_published(gguf_model);
    CHECK(p.tokenizer.encode("<|im_end|>ab") == Text{1, 22});
    CHECK(message_pieces(p, "ba", "<|im_end|>ab").front() == 0);
    // of the letters in <|im_end|>, the small vocabulary has these
    CHECK(message_pieces(p, "ba", "<|im_end|>ab") == Text{0, 3, 2, 10, 14, 6, 15, 5, 22, 1});
    CHECK(answer_begins(p) == Text{0, 2, 20, 20, 10, 20, 21, 2, 15, 21});
    Published other = load_published(gguf_model);
    other.chat_template += " ";
    CHECK_THAT(refused_because([&] { message_pieces(other, "user", "a"); }),
               Contains("another one than"));
}

TEST_CASE("what a model says ends with its end, with what was asked for, or with its context") {
    const Published p = load_published(gguf_model);
    std::string shown;
    const auto keep = [&](const std::string& text) { shown += text; };
    Text pieces{3, 4};
    Continuation text(p.model, 6);
    const Pace pace = say(p, text, pieces, {.temperature = 0}, Random(1).stream(), 3, keep);
    CHECK(pace.read == 2);
    CHECK(pace.said == 3);
    CHECK(pieces.size() == 5);
    std::string expected;
    for (std::size_t i = 2; i < pieces.size(); ++i) expected += p.tokenizer.piece(pieces[i]);
    CHECK(shown == expected);
    say(p, text, pieces, {.temperature = 0}, Random(1).stream(), 100, keep);
    CHECK(pieces.size() == 7);  // the last one needs no room
}

TEST_CASE("what a model's files say and this book does not build is refused by name") {
    CHECK(refused_with("rms_norm_eps", 1e-5) == "accepted");
    CHECK_THAT(refused_with("rope_scaling", {{"factor", 8}}), Contains("rope_scaling is {"));
    CHECK_THAT(refused_with("rope_parameters", {{"rope_type", "yarn"}, {"rope_theta", 1e4}}),
               Contains("yarn") && Contains("expected the rope_type default"));
    CHECK_THAT(refused_with("sliding_window", 4096), Contains("sliding_window is 4096"));
    CHECK_THAT(refused_with("attention_bias", true), Contains("attention_bias is true"));
    CHECK_THAT(refused_with("model_type", "qwen2"), Contains("model_type is \"qwen2\""));
    CHECK_THAT(refused_with("num_experts", 8), Contains("the field num_experts, which is not"));
    CHECK_THAT(refused_with("hidden_size", 23), Contains("expected 23 / 6"));
    CHECK_THAT(refused_with("hidden_size", "24"), Contains("expected a number"));
    CHECK_THAT(refused_with("hidden_size", -4), Contains("llama.embedding_length is -4"));
    CHECK(refused_note("general.name", std::string("x")) == "accepted");
    CHECK_THAT(refused_note("llama.rope.scaling.type", std::string("linear")),
               Contains("the note llama.rope.scaling.type, which is not built"));
    CHECK_THAT(refused_note("llama.block_count", {}), Contains("llama.block_count is missing"));
    CHECK_THAT(refused_note("llama.block_count", 2.5), Contains("another type"));
    CHECK_THAT(refused_note("llama.rope.dimension_count", std::int64_t{2}),
               Contains("whole heads turn here"));
}

TEST_CASE("a file whose tensors are not the model's is refused") {
    const WeightFile file = open_gguf(gguf_model);
    const LlamaOptions options = published_options(file.notes, true, Pairing::neighbors);
    const auto without = [&](const std::string& name, const std::string& instead) {
        WeightFile other = file;
        const StoredTensor tensor = other.tensors.at(name);
        other.tensors.erase(name);
        if (!instead.empty()) other.tensors.emplace(instead, tensor);
        return refused_because([&] { stored_llama(options, other, true); });
    };
    CHECK_THAT(without("blk.1.attn_k.weight", ""), Contains("blk.1.attn_k.weight is missing"));
    WeightFile more = file;
    more.tensors.emplace("rope_freqs.weight", file.at("output_norm.weight", {24}));
    CHECK_THAT(refused_because([&] { stored_llama(options, more, true); }),
               Contains("1 of its 21 tensors have no place"));
    LlamaOptions wider = options;
    wider.words = 24;
    CHECK_THAT(refused_because([&] { stored_llama(wider, file, true); }),
               Contains("token_embd.weight has shape [23, 24], expected [24, 24]"));
    CHECK_THAT(refused_because([] { load_published("nowhere.gguf"); }), Contains("nowhere.gguf"));
}

TEST_CASE("rounding a model changes its matrices, and their bytes") {
    LlamaOptions o{.words = 40, .n_layers = 2, .tied = true, .context = 8};
    o.block = {.attention = {.d_model = 32, .n_heads = 4, .n_kv_heads = 2}, .d_ff = 64};
    Llama exact(o, Random(3)), rounded = exact;
    const Ids text = as_ids({1, 2, 3});
    const Tensor y = exact.output.forward(exact.forward(text));
    const Index numbers = 40 * 32 + 2 * (32 * (32 + 16 + 16 + 32) + 3 * 32 * 64);
    const Index norms = 4 * 5 * 32;
    CHECK(round_matrices(rounded, NumberKind::f32) == 4 * numbers + norms);
    CHECK(max_difference(rounded.output.forward(rounded.forward(text)), y) < 1e-5);
    CHECK(round_matrices(rounded, NumberKind::q8_0) == numbers / 32 * 34 + norms);
    const double error = max_difference(rounded.output.forward(rounded.forward(text)), y);
    CHECK(error > 1e-5);
    CHECK(error < 0.1);
    CHECK(round_matrices(rounded, NumberKind::q4_0) == numbers / 32 * 18 + norms);
    CHECK(max_difference(exact.output.forward(exact.forward(text)), y) == 0);  // a copy was rounded
    Llama::Cache cache;
    CHECK_THAT(refused_because([&] { rounded.forward(text, &cache); }), Contains("for inference"));
}
