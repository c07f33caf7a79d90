// Once: every field of the files of a model of Marian, and the library's tokenizer.
#include <iterator>
#include <sstream>

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

namespace {

/// What a folder makes of a search, and of text and ids, or the message that refuses it.
std::string outcome(const fs::path& folder, bool with_words) {
    try {
        const MarianConfig c = read_marian_config(folder);
        const BeamOptions& s = c.search;
        json found{{"options", to_json(c.model)},
                   {"symbols", {s.start, s.end}},
                   {"never", s.never},
                   {"renormalize", c.renormalize},
                   {"search", {s.beam, s.max_words, s.length_penalty, s.stopping}}};
        if (with_words) {
            const MarianWords words(folder, c);
            found["ids"] = words.encode("▁dog ist</s>x Ķ");
            found["text"] = words.decode(std::vector<std::int32_t>{48, 33, 48, 9, 1, 0});
        }
        return found.dump();
    } catch (const std::runtime_error& error) {
        return error.what();
    }
}

/// One value of each kind that a field may have.
const std::vector<json> values = {nullptr,
                                  true,
                                  false,
                                  0,
                                  1,
                                  2,
                                  -1,
                                  0.5,
                                  "x",
                                  "!",
                                  json::array(),
                                  json::object(),
                                  json::array({"x"}),
                                  json::array({json::array({1})}),
                                  json::object({{"a", 1}})};

/// Tries the values in a field of a file, and leaves the file as it was.
void check_field(const FieldRule& rule, const std::string& name, const fs::path& file) {
    CAPTURE(file, name);
    const bool with_words = rule.file.starts_with("tokenizer");
    const std::string before = fs::exists(file) ? read_file(file) : "{}";
    const auto with = [&](const json& value) {
        put(file, before);
        set_field(file, name, value);
        return outcome(file.parent_path(), with_words);
    };
    const std::string without = outcome(file.parent_path(), with_words);
    const json usual = rule.usual.empty() ? json::array() : json::parse(rule.usual);
    const auto is_usual = [&](const json& value) {
        const bool none = usual.empty() && value.is_structured() && value.empty();
        return none || value.is_null() || std::ranges::find(usual, value) != usual.end();
    };
    bool changes = false;
    for (const json& value : values) {
        CAPTURE(value);
        const std::string found = with(value);
        if (rule.use == FieldRule::Use::followed)
            changes = changes || found != without;
        else if (rule.use == FieldRule::Use::no_effect || is_usual(value))
            CHECK(found == without);
        else
            CHECK_THAT(found, Contains(fmt::format("{}: not usable", file.string())) &&
                                  Contains(fmt::format("{} is {}, expected", name, value.dump())));
    }
    for (const json& value : usual) CHECK(with(value) == without);
    if (rule.use == FieldRule::Use::followed) CHECK(changes);
    put(file, before);
}

/// The names of a rule, with something in place of `*`.
std::vector<std::string> names_of(const FieldRule& rule) {
    std::istringstream words(replaced(std::string(rule.names), "*", "other"));
    return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace

TEST_CASE("each field is followed, refused by name, or without effect, as its rule says") {
    const Folder folder;
    const fs::path model = copy_of("half", folder);
    for (const FieldRule& rule : marian_rules())
        for (const std::string& name : names_of(rule)) {
            check_field(rule, name, model / rule.file);
            if (rule.file == "tokenizer_config.json" && name != "added_tokens_decoder")
                check_field(rule, name, model / "special_tokens_map.json");
        }
    fs::remove(model / "generation_config.json");  // now config.json has these fields, too
    for (const FieldRule& rule : marian_rules())
        for (const std::string& name : names_of(rule))
            if (rule.file == "generation_config.json" && !marian_rule("config.json", name))
                check_field(rule, name, model / "config.json");
}

TEST_CASE("a field that no rule knows is named, and the model is used") {
    const Folder folder;
    const fs::path model = copy_of("one_table", folder);
    CHECK(marian_translator(model).remarks.empty());
    for (const char* file : {"config.json", "generation_config.json", "tokenizer_config.json",
                             "special_tokens_map.json"}) {
        set_field(model / file, "of_tomorrow\n", 1);
        const std::vector<std::string> remarks = marian_translator(model).remarks;
        REQUIRE_FALSE(remarks.empty());
        CHECK_THAT(remarks.back(), Contains(file) && Contains("of_tomorrow\\x0A"));
    }
    CHECK(marian_translator(model).remarks.size() == 4);
    CHECK_THROWS_AS(Fields(model / "config.json").has("of_tomorrow"), std::logic_error);
}
