// Per way: models of Marian as the transformers library stores them, against that library's own
// numbers.
#include "tests/13_real_translation/marian.hpp"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "chapters/02_positional_encoding/other_tables.hpp"
#include "chapters/09_training/loss/loss.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/marian/marian.hpp"
#include "lib/io/files.hpp"
#include "lib/io/safetensors.hpp"
#include "lib/way.hpp"
#include "tests/support.hpp"

using namespace abh;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> models = {"one_table", "half", "two_tables", "odd", "three_tables"};

json expected(const std::string& name) {
    return json::parse(read_file(golden / name / "expected.json"));
}

Ids ids_of(const Tensor& values) {
    Ids ids(values.shape());
    std::ranges::transform(values.values(), ids.data(),
                           [](Real v) { return static_cast<std::int32_t>(v); });
    return ids;
}

struct Pass {
    Ids src, tgt;
    Tensor logits;
};

Pass pass_of(const std::string& name) {
    const TensorFile file = load_safetensors(golden / name / "expected.safetensors");
    return {ids_of(file.tensors.at("src")), ids_of(file.tensors.at("tgt")),
            file.tensors.at("logits")};
}

/// The message with which a model is refused if fields of config.json are set, or taken out where
/// the value is null.
std::string refused_config(const std::string& name, const json& changes) {
    const Folder folder;
    const fs::path model = copy_of(name, folder);
    json config = json::parse(read_file(model / "config.json"));
    config.merge_patch(changes);
    put(model / "config.json", config.dump());
    return refusal(model);
}

}  // namespace

TEST_CASE("logits of a model of Marian are those of the transformers library") {
    for (const std::string& name : models) {
        CAPTURE(name);
        const Pass pass = pass_of(name);
        const MarianConfig config = read_marian_config(golden / name);
        const Transformer model = load_marian_model(golden / name, config);
        const Tensor logits = model.logits(pass.src, pass.tgt);
        REQUIRE(logits.shape() == pass.logits.shape());
        // The library's table of positions is rounded to single precision. Logits are about 10.
        CHECK(max_difference(logits, pass.logits) < (in_double ? 1e-6 : 1e-4));
    }
}

TEST_CASE("a source's pads are hidden, and those of a target are words") {
    const Pass pass = pass_of("one_table");
    const MarianConfig config = read_marian_config(golden / "one_table");
    const Transformer model = load_marian_model(golden / "one_table", config);
    CHECK(config.search.start == config.model.pad);
    CHECK_FALSE(config.model.mask_target_pads);
    Ids longer({pass.src.dim(0), pass.src.dim(1) + 3});
    longer.fill(config.model.pad);
    for (Index b = 0; b < pass.src.dim(0); ++b)
        for (Index t = 0; t < pass.src.dim(1); ++t) longer(b, t) = pass.src(b, t);
    CHECK(max_difference(model.logits(longer, pass.tgt), pass.logits) < (in_double ? 1e-6 : 1e-4));
}

TEST_CASE("ids come from vocab.json, as the library's tokenizer has them") {
    for (const std::string& name : models) {
        CAPTURE(name);
        const MarianConfig config = read_marian_config(golden / name);
        const MarianWords words(golden / name, config);
        const Subwords pieces(read_file(golden / name / "source.spm"));
        const json all = expected(name);
        bool as_sentencepiece = true;
        for (const json& sentence : all["sentences"]) {
            const std::string text = sentence["text"];
            CAPTURE(text);
            std::vector<std::int32_t> ids = words.encode(text);
            as_sentencepiece = as_sentencepiece && ids == pieces.encode(text);
            ids.push_back(config.search.end);
            CHECK(ids == sentence["ids"].get<std::vector<std::int32_t>>());
        }
        CHECK_FALSE(as_sentencepiece);
        for (const json& said : all["spoken"])
            CHECK(words.decode(said["ids"].get<std::vector<std::int32_t>>()) ==
                  one_line(said["text"].get<std::string>()));
        CHECK_THROWS_WITH(
            words.decode(std::vector{static_cast<std::int32_t>(config.model.tgt_words)}),
            Contains("marian: id"));
        CHECK_THROWS_AS(words.decode(std::vector<std::int32_t>{-1}), std::invalid_argument);
        CHECK(words.encode("").empty());
        CHECK(words.decode({}).empty());
    }
}

TEST_CASE("an id without a piece shows as a sign that something is unknown") {
    MarianConfig config = read_marian_config(golden / "one_table");
    config.model.tgt_words = 113;  // four more than the vocabulary names
    const MarianWords words(golden / "one_table", config);
    CHECK(words.decode(std::vector<std::int32_t>{75, 112, 38}) == "D ⁇ a");
}

TEST_CASE("the beams are those of the library's generate, word for word") {
    const bool slow = way() == Way::cuda;  // on the emulated device: one model, two searches
    for (const std::string& name : slow ? std::vector{models.front()} : models) {
        const Folder folder;
        const fs::path model = copy_of(name, folder);
        const Pass pass = pass_of(name);
        const json all = expected(name);
        for (const json& search : all["searches"]) {
            if (slow && &search - &all["searches"][0] >= 2) break;
            json asked = search;  // in the file, where the library also reads it
            asked.erase("found");
            asked["max_length"] = all["max_length"];
            put(model / "generation_config.json", asked.dump());
            const LineTranslator translator = marian_translator(model);
            BeamOptions options = translator.with_symbols(translator.search);
            options.n_best = search.value("num_return_sequences", 1);
            const auto found = beam_search(translator.model, pass.src, options);
            REQUIRE(found.size() == search["found"].size());
            for (std::size_t b = 0; b < found.size(); ++b)
                for (std::size_t k = 0; k < search["found"][b].size(); ++k) {
                    INFO(name << ", beam " << options.beam << ", alpha " << options.length_penalty
                              << ", sentence " << b << ", hypothesis " << k);
                    const json& wanted = search["found"][b][k];
                    REQUIRE(k < found[b].size());
                    CHECK(found[b][k].ids == wanted["ids"].get<std::vector<std::int32_t>>());
                    CHECK(found[b][k].finished == wanted["finished"].get<bool>());
                    if (!wanted["score"].is_null())
                        CHECK(found[b][k].score ==
                              Approx(wanted["score"].get<double>()).margin(1e-4));
                }
        }
    }
}

TEST_CASE("a wrong variant is far from the library's logits") {
    const Pass pass = pass_of("one_table");
    const auto off_by = [&](const auto& change) {
        MarianConfig config = read_marian_config(golden / "one_table");
        change(config.model);
        const Transformer model = load_marian_model(golden / "one_table", config);
        return max_difference(model.logits(pass.src, pass.tgt), pass.logits);
    };
    using Options = TransformerOptions;
    CHECK(off_by([](Options& o) { o.layer.activation = Activation::relu; }) > 1);
    CHECK(off_by([](Options& o) { o.embedding.scale = false; }) > 1);
    CHECK(off_by([](Options& o) { o.mask_target_pads = true; }) > 0.1);
    // the loader compares tables of positions, where a file has them; this one has none
    CHECK(off_by([](Options& o) { o.positions.kind = Positions::sinusoid; }) > 1);
}

TEST_CASE("the gradient of one table by hand") {
    Random random(1);
    Embedding source(3, 2, {}, random), target(3, 2, {}, random);
    Linear output(2, 3, false, random);
    target.table.assign(Tensor({3, 2}, {0, 0, 1, 0, 0, 1}));
    source.table = output.weight = target.table;
    Embedding::Cache source_cache, target_cache;
    Linear::Cache output_cache;
    CrossEntropyCache loss_cache;
    const Tensor x = source.forward(Ids({1, 1}, {1}), &source_cache) +
                     target.forward(Ids({1, 1}, {2}), &target_cache);
    const Tensor z = output.forward(x, &output_cache);
    CHECK(same_bits(z, Tensor({1, 1, 3}, {0, 1, 1})));
    cross_entropy(z, Ids({1, 1}, {1}), {.ignore = -1}, &loss_cache);
    const Tensor dx = output.backward(cross_entropy_backward(loss_cache), output_cache);
    source.backward(dx, source_cache);
    target.backward(dx, target_cache);
    const double e = std::exp(1.0), p0 = 1 / (1 + 2 * e), p = e / (1 + 2 * e);
    CHECK(fmt::format("{:.3f} {:.3f}", p0, p) == "0.155 0.422");
    Tensor expected({3, 2});
    const double sums[] = {p0, p0, 2 * (p - 1), (p - 1) + p, p + (p - 1), 2 * p};
    for (Index i = 0; i < 6; ++i) expected.data()[i] = static_cast<Real>(sums[i]);
    CHECK(max_difference(target.table.grad(), expected) < 1e-6);
    CHECK(fmt::format("{:.3f} {:.3f} {:.3f}", sums[2], sums[3], sums[5]) == "-1.155 -0.155 0.845");
}

// What is refused -----------------------------------------------------------------------------

TEST_CASE("a configuration of another kind of model is refused, and the field is named") {
    const auto refused = [](const json& changes, const char* message) {
        CAPTURE(message);
        CHECK_THAT(refused_config("one_table", changes), Contains(message));
    };
    CHECK(refused_config("one_table", {{"activation_function", "silu"}}) == "accepted");
    CHECK(refused_config("one_table", {{"decoder_vocab_size", nullptr}}) == "accepted");
    refused({{"model_type", "bart"}}, "model_type is \"bart\", expected \"marian\"");
    refused({{"model_type", nullptr}}, "no field model_type");
    refused({{"activation_function", "gelu"}},
            "activation_function is \"gelu\", expected relu, swish or silu");
    refused({{"num_hidden_layers", 3}}, "num_hidden_layers is 3, expected 2 as in encoder_layers");
    refused({{"d_model", 33}}, "d_model is 33, expected a multiple of 4");
    refused({{"d_model", -32}}, "d_model is -32, expected a whole number from 1");
    refused({{"d_model", std::uint64_t{1} << 63}}, "expected a whole number from 1");
    refused({{"decoder_attention_heads", 2}}, "decoder_attention_heads is 2, expected 4");
    refused({{"decoder_ffn_dim", 64}}, "decoder_ffn_dim is 64, expected 48");
    refused({{"scale_embedding", 1}}, "scale_embedding is 1, expected true or false");
    refused({{"pad_token_id", 109}}, "pad_token_id is 109, expected a whole number from 0 to 108");
    refused({{"eos_token_id", {0}}}, "eos_token_id is [0], expected a whole number");
    refused({{"eos_token_id", std::uint64_t(-1)}}, "eos_token_id is 18446744073709551615");
    refused({{"decoder_vocab_size", 50}}, "decoder_vocab_size is 50, expected 109 as vocab_size");
    refused({{"tie_word_embeddings", false}}, "tensor lm_head.weight is missing");
}

TEST_CASE("weights in another form are refused with the way to make them readable") {
    const Folder folder;
    const fs::path model = copy_of("one_table", folder);
    put(model / "pytorch_model.bin", "x");  // beside the weights it is allowed
    CHECK(refusal(model) == "accepted");
    fs::remove(model / "model.safetensors");
    CHECK_THAT(refusal(model),
               Contains("model.safetensors: not usable") &&
                   Contains("python chapters/13_real_translation/marian_files.py safetensors " +
                            model.string()));
    put(model / "adapter_config.json", "{}");
    CHECK_THAT(refusal(model), Contains("adapter_config.json: not usable") && Contains("merge"));
    for (const char* file :
         {"config.json", "vocab.json", "source.spm", "target.spm", "model.safetensors"}) {
        const fs::path pointer = copy_of("one_table", folder);
        put(pointer / file, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
        CHECK_THAT(refusal(pointer), Contains(file) && Contains("git lfs pull"));
    }
}

TEST_CASE("sizes that the file does not have are refused before room is made for them") {
    for (const json& change :
         {json{{"d_model", 32768}}, json{{"encoder_layers", 1000}}, json{{"decoder_layers", 3}},
          json{{"vocab_size", 9'999'999}, {"decoder_vocab_size", 9'999'999}},
          json{{"encoder_ffn_dim", 262144}, {"decoder_ffn_dim", 262144}}})
        CHECK_THAT(refused_config("one_table", change), Contains("model.safetensors"));
    CHECK_THAT(refused_config("one_table", {{"encoder_layers", 1}}),
               Contains("does not belong to such a model"));
}

TEST_CASE("tensors that do not belong to the model, or are not there, are refused by name") {
    const Folder folder;
    const auto changed = [&](const auto& change) {
        const fs::path model = copy_of("one_table", folder);
        TensorFile file = load_safetensors(model / "model.safetensors");
        change(file.tensors);
        save_safetensors(model / "model.safetensors", file);
        return refusal(model);
    };
    using Tensors = std::map<std::string, Tensor>;
    CHECK(changed([](Tensors&) {}) == "accepted");
    CHECK_THAT(changed([](Tensors& t) { t.erase("model.decoder.layers.1.fc2.bias"); }),
               Contains("tensor model.decoder.layers.1.fc2.bias is missing"));
    CHECK_THAT(changed([](Tensors& t) {
                   t["model.encoder.layernorm_embedding.weight"] = Tensor::zeros({32});
               }),
               Contains("does not belong to such a model"));
    CHECK_THAT(changed([](Tensors& t) {
                   t["model.shared.weight"] = Tensor::zeros({108, 32});
               }),
               Contains("tensor model.shared.weight has shape [108, 32], expected [109, 32]"));
    CHECK_THAT(changed([](Tensors& t) { t["final_logits_bias"] = Tensor::zeros({109}); }),
               Contains("final_logits_bias has shape [109], expected [1, 109]"));
    CHECK(changed([](Tensors& t) { t.erase("final_logits_bias"); }) == "accepted");
    // copies of what is there already, as older versions of the library write them
    CHECK(changed([](Tensors& t) {
              for (const char* name : {"model.encoder.embed_tokens.weight",
                                       "model.decoder.embed_tokens.weight", "lm_head.weight"})
                  t[name] = t["model.shared.weight"].clone();
              t["model.encoder.embed_positions.weight"] = sines_then_cosines(96, 32);
          }) == "accepted");
    CHECK(changed([](Tensors& t) {
              t["lm_head.weight"] = t["model.shared.weight"];
              t.erase("model.shared.weight");
          }) == "accepted");
    CHECK_THAT(changed([](Tensors& t) {
                   t["lm_head.weight"] = t["model.shared.weight"].clone();
                   t["lm_head.weight"](3, 4) += Real(0.001);
               }),
               Contains("tensor lm_head.weight has other numbers"));
    CHECK_THAT(changed([](Tensors& t) {
                   t["model.decoder.embed_positions.weight"] = sinusoid_table(96, 32);
               }),
               Contains("embed_positions.weight has other numbers"));
}

TEST_CASE("a vocabulary that is none is refused") {
    const Folder folder;
    const auto refused = [&](const std::string& content) {
        const fs::path model = copy_of("one_table", folder);
        put(model / "vocab.json", content);
        return refusal(model);
    };
    CHECK_THAT(refused("[]"), Contains("array, expected an object"));
    CHECK_THAT(refused("{"), Contains("not JSON"));
    CHECK_THAT(refused(""), Contains("not JSON"));
    CHECK_THAT(refused("{\"\xff\": 1}"), Contains("not JSON"));
    CHECK_THAT(refused("{\"a\": 1}"), Contains("no piece <unk>"));
    CHECK_THAT(refused("{\"<unk>\": 109}"), Contains("id 109, expected one below 109"));
    CHECK_THAT(refused("{\"<unk>\": -1}"), Contains("id -1"));
    CHECK_THAT(refused("{\"<unk>\": 18446744073709551615}"), Contains("expected one below 109"));
    CHECK_THAT(refused("{\"<unk>\": 1.5}"), Contains("id 1.5"));
    CHECK_THAT(refused("{\"<unk>\": 1, \"a\\u001b[31m\\n\": 1}"), Contains("id 1, which another"));
    CHECK_THAT(refused("{\"<unk>\": 1, \"<unk>\": 2}"), Contains("\"<unk>\" occurs twice"));
    CHECK_THAT(refused(std::string(100000, '[')), Contains("nested deeper"));
    CHECK_THAT(refused("{\"a\":" + std::string(100000, '[')), Contains("nested deeper"));
    CHECK_THAT(refused("{\"<unk>\": 0}"),
               Contains("eos_token is </s>, whose id is 1, but eos_token_id in config.json is 0"));
    CHECK_THAT(refused("{\"<unk>\": 1}"),
               Contains("vocab.json") && Contains("the token <unk> or its id 1 occurs twice"));
    CHECK_THAT(refused("{\"<unk>\": 1, \"</s>\": 0, \"<pad>\": 2}"),
               Contains("vocab.json") && Contains("pad_token_id in config.json is 108"));
    CHECK(refused("{\"<unk>\": 1, \"</s>\": 0, \"<pad>\": 108}") == "accepted");  // all unknown
}

TEST_CASE("files that are missing, cut or of another kind are refused in one line") {
    const Folder folder;
    for (const char* file :
         {"config.json", "model.safetensors", "vocab.json", "source.spm", "target.spm"}) {
        CAPTURE(file);
        const fs::path model = copy_of("two_tables", folder);
        const std::string whole = read_file(model / file);
        fs::remove(model / file);
        CHECK_THAT(refusal(model), Contains(file));
        for (const std::size_t length : {std::size_t{0}, std::size_t{5}, whole.size() / 2}) {
            put(model / file, whole.substr(0, length));
            CHECK_THAT(refusal(model), Contains(file));
        }
        put(model / file, std::string(1000, '\x1b'));
        CHECK_THAT(refusal(model), Contains(file));
    }
    CHECK_THAT(refusal(folder / "none"), Contains("config.json: No such file"));
}
