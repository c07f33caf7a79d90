// Per real: models of Llama as the transformers library stores them, against that library's own
// numbers.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "chapters/09_training/loss/argmax.hpp"
#include "chapters/15_language_model/published_model.hpp"
#include "lib/io/files.hpp"
#include "lib/io/safetensors.hpp"
#include "tests/support.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

const fs::path folder = fs::path(ABH_GOLDEN) / "llama";
const std::vector<std::string> models = {"one_key_head", "three_key_heads", "all_key_heads",
                                         "odd",          "one_head",        "half"};

LlamaOptions options_of(const std::string& name) {
    const auto config = nlohmann::json::parse(read_file(folder / name / "config.json"));
    return published_options(notes_of_json(folder / name / "config.json"),
                             config.at("tie_word_embeddings"), Pairing::halves);
}

Llama load(const std::string& name, const LlamaOptions& options) {
    return stored_llama(options, open_safetensors(folder / name / "model.safetensors"), false);
}

struct Expected {
    Ids prompt;     ///< [1, 5]
    Tensor logits;  ///< [1, 5, n_words]
    Ids found;      ///< [12]
};

Expected expected(const std::string& name) {
    const TensorFile file = load_safetensors(folder / name / "expected.safetensors");
    const auto ids = [&](const std::string& key) {
        const Tensor& values = file.tensors.at(key);
        Ids all(values.shape());
        std::ranges::transform(values.values(), all.data(),
                               [](Real v) { return static_cast<std::int32_t>(v); });
        return all;
    };
    return {ids("prompt"), file.tensors.at("logits"), ids("found")};
}

Tensor logits_of(const Llama& model, const Ids& ids) {
    return model.output.forward(model.forward(ids));
}

/// How far the logits are from the library's with these options instead of the model's own.
double distance(const std::string& name, const LlamaOptions& options) {
    const Expected theirs = expected(name);
    return max_difference(logits_of(load(name, options), theirs.prompt), theirs.logits);
}

}  // namespace

TEST_CASE("logits of a model of Llama are those of the transformers library") {
    for (const std::string& name : models) {
        CAPTURE(name);
        // In double precision, too, the library finds the size of a row and the angles in single
        // precision. Logits are about 5.
        CHECK(distance(name, options_of(name)) < (in_double ? 1e-5 : 1e-4));
    }
}

TEST_CASE("the likeliest words that follow a text are those of the transformers library") {
    for (const std::string& name : models) {
        CAPTURE(name);
        const Llama model = load(name, options_of(name));
        const auto [prompt, logits, found] = expected(name);
        std::vector<std::int32_t> text(prompt.values().begin(), prompt.values().end());
        for (const std::int32_t word : found.values()) {
            Ids ids({1, std::ssize(text)});
            std::ranges::copy(text, ids.data());
            const auto likeliest = argmax(logits_of(model, ids));
            REQUIRE(likeliest(0, std::ssize(text) - 1).word == word);
            text.push_back(word);
        }
    }
}

TEST_CASE("a model computes something else with another pairing, base or epsilon") {
    for (const std::string& name : models) {
        CAPTURE(name);
        LlamaOptions pairing = options_of(name), base = pairing, eps = pairing;
        pairing.block.attention.rotary->pairing = Pairing::neighbors;
        base.block.attention.rotary->base = base.block.attention.rotary->base > 1e5 ? 1e4 : 5e5;
        eps.block.eps *= 10;
        for (const LlamaOptions& other : {pairing, base, eps}) CHECK(distance(name, other) > 1e-4);
    }
}
