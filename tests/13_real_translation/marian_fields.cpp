// Once: the fields of a model of Marian that count, and the library's tokenizer.
#include <initializer_list>

#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/marian/marian_json.hpp"
#include "tests/13_real_translation/marian.hpp"

using namespace abh;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("tokens are those of the library's tokenizer, whichever file names them, or refused") {
    const json all = json::parse(read_file(golden.parent_path() / "marian_tokens.json"));
    MarianConfig config = read_marian_config(golden / "half");
    config.model.src_words = config.model.tgt_words = 113;  // there is room for four more
    const auto with_end = [&](std::vector<std::int32_t> ids) {
        ids.push_back(config.search.end);
        return ids;
    };
    int refused = 0;
    for (const json& one : all["cases"]) {
        CAPTURE(one["name"]);
        const Folder folder;
        const fs::path model = copy_of("half", folder);
        for (const auto& [file, content] : one["files"].items()) put(model / file, content.dump());
        if (one.contains("refused")) {
            CHECK_THAT(refusal(model), Contains(one["refused"].get<std::string>()));
            ++refused;
            continue;
        }
        const MarianWords words(model, config);
        for (std::size_t i = 0; i < one["ids"].size(); ++i) {
            CAPTURE(all["texts"][i]);
            CHECK(with_end(words.encode(all["texts"][i])) ==
                  one["ids"][i].get<std::vector<std::int32_t>>());
        }
        for (const json& said : one["spoken"])
            CHECK(words.decode(said["ids"].get<std::vector<std::int32_t>>()) ==
                  tidy(said["text"].get<std::string>()));
    }
    CHECK(refused == 7);
    const MarianWords words(golden / "half", config);
    CHECK_THROWS_WITH(words.encode("a <pad> b"), Contains("the pad"));
}

TEST_CASE("a token without a row in the model's table is refused with the way to give it one") {
    const auto refused = [](const char* file, const json& content) {
        const Folder folder;
        const fs::path model = copy_of("half", folder);
        put(model / file, content.dump());
        return refusal(model);
    };
    const json ent{{"content", "<ent>"}};
    for (const auto& [file, content] :
         {std::pair<const char*, json>{"tokenizer_config.json",
                                       {{"additional_special_tokens", {"<ent>"}}}},
          {"tokenizer_config.json", {{"added_tokens_decoder", {{"109", ent}}}}},
          {"special_tokens_map.json", {{"sep_token", "<ent>"}}},
          {"added_tokens.json", {{"<ent>", 109}}},
          {"tokenizer.json", {{"added_tokens", {{{"id", 109}, {"content", "<ent>"}}}}}}})
        CHECK_THAT(refused(file, content),
                   Contains(file) &&
                       Contains("the token <ent> has id 109, but the model knows 109"
                                " words") &&
                       Contains("resize_token_embeddings"));
    for (const json& token : {json(3), json::object(), json("")})
        CHECK_THAT(refused("tokenizer_config.json", {{"added_tokens_decoder", {{"5", token}}}}),
                   Contains("the token") && Contains("has no text"));
    CHECK_THAT(refused("tokenizer_config.json", {{"added_tokens_decoder", {{"x", ent}}}}),
               Contains("the token <ent> has id"));
    CHECK_THAT(refused("special_tokens_map.json", {{"additional_special_tokens", {"a", "b"}},
                                                   {"extra_special_tokens", {"a"}}}),
               Contains("expected the same tokens"));
    CHECK_THAT(refused("target_vocab.json", {{"<unk>", 1}}),
               Contains("target_vocab.json") && Contains("separate_vocabs"));
}

TEST_CASE("the search is generation_config.json's, or config.json's if there is no such file") {
    const Folder folder;
    const fs::path model = copy_of("one_table", folder), search = model / "generation_config.json";
    CHECK(read_marian_config(model).search.never == std::set<std::int32_t>{108});
    put(search, R"({"bad_words_ids": [[108], [5], [0]]})");  // the end may always be said
    CHECK(read_marian_config(model).search.never == std::set<std::int32_t>{5, 108});
    put(search, R"({"bad_words_ids": [[109]]})");
    CHECK_THAT(refusal(model), Contains("generation_config.json") && Contains("one id below 109"));
    put(search, R"({"bad_words_ids": [[1, 2]]})");
    CHECK_THAT(refusal(model), Contains("bad_words_ids is [[1,2]], expected lists of one id"));
    put(search, R"({"eos_token_id": 1})");
    CHECK_THAT(refusal(model), Contains("eos_token_id is 1, expected 0 as in config.json"));
    put(search, R"({"num_beams": 6})");
    set_field(model / "config.json", "num_beams", 3);
    set_field(model / "config.json", "forced_bos_token_id", 7);
    CHECK(read_marian_config(model).search.beam == 6);
    fs::remove(search);
    CHECK_THAT(refusal(model),
               Contains("config.json") && Contains("forced_bos_token_id is 7, expected none"));
    set_field(model / "config.json", "forced_bos_token_id", nullptr);
    CHECK(read_marian_config(model).search.beam == 3);
}

TEST_CASE("a field that would change the translation is refused by name unless it is the usual") {
    const Folder folder;
    const fs::path model = copy_of("half", folder);
    CHECK(refusal(model) == "accepted");
    const auto with = [&](const char* file, const char* name, const json& value) {
        const fs::path path = model / file;
        const std::string before = fs::exists(path) ? read_file(path) : "{}";
        set_field(path, name, value);
        const std::string said = refusal(model);
        put(path, before);
        return said;
    };
    struct Field {
        const char *file, *name;
        json usual, other;
    };
    for (const auto& [file, name, usual, other] : std::initializer_list<Field>{
             {"config.json", "static_position_embeddings", true, false},
             {"config.json", "normalize_before", false, true},
             {"config.json", "quantization_config", nullptr, {{"bits", 4}}},
             {"config.json", "pruned_heads", json::object(), {{"0", {1}}}},
             {"generation_config.json", "forced_bos_token_id", nullptr, 7},
             {"generation_config.json", "no_repeat_ngram_size", 0, 3},
             {"generation_config.json", "repetition_penalty", 1, 1.5},
             {"generation_config.json", "do_sample", false, true},
             {"generation_config.json", "cache_implementation", "static", "quantized"},
             {"tokenizer_config.json", "tokenizer_class", "MarianTokenizer", "T5Tokenizer"},
             {"tokenizer_config.json", "padding_side", "right", "left"},
             {"special_tokens_map.json", "image_token", nullptr, "<image>"}}) {
        CAPTURE(file, name);
        CHECK(with(file, name, usual) == "accepted");
        CHECK_THAT(with(file, name, other),
                   Contains(fmt::format("{}: not usable", file)) &&
                       Contains(fmt::format("{} is {}, expected ", name, other.dump())));
    }
    for (const char* file : {"config.json", "generation_config.json", "tokenizer_config.json"})
        CHECK(with(file, "of_tomorrow", 1) == "accepted");
    CHECK(with("tokenizer_config.json", "add_eos_token", false) == "accepted");
}
