// Once: the systems of the four source texts as options, and options as JSON.
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "lib/io/safetensors.hpp"
#include "tests/support.hpp"
#include "tests/transformers.hpp"

using namespace abh;

namespace {

/// The JSON of the toy with one text in it replaced; then read.
TransformerOptions altered(const std::string& from, const std::string& to) {
    std::string text = to_json(TransformerOptions::toy());
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return transformer_options(text.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("the systems of the four source texts have as many parameters as one counts by hand") {
    for (const auto& [options, parameters] :
         {std::pair<TransformerOptions, Index>{TransformerOptions::toy(), 44'058'112},
          {TransformerOptions::notebook(), 44'150'793},
          {TransformerOptions::article(), 45'675'496},
          {TransformerOptions::shared_heads(), 7'620'618}}) {
        Transformer model(options, Random(1));
        CHECK(count_elements(parameters_of(model)) == parameters);
    }
}

TEST_CASE("options survive the way to JSON and back") {
    for (const auto& options :
         {TransformerOptions::toy(), TransformerOptions::notebook(), TransformerOptions::article(),
          TransformerOptions::shared_heads(), paper_like(NormPlacement::pre), shared_head_like(),
          marian_like(Tied::all), marian_like(Tied::target)}) {
        CHECK(to_json(transformer_options(to_json(options))) == to_json(options));
    }
}

TEST_CASE("every field of the JSON is an option of its own") {
    // each line of the JSON changed alone must come back as it was written
    const std::string text = to_json(shared_head_like());
    const std::regex line("\"([a-z_]+)\": ([^,\n]+)");
    const std::map<std::string, std::string> changed{{"true", "false"},
                                                     {"false", "true"},
                                                     {"null", "3"},
                                                     {"\"post\"", "\"pre\""},
                                                     {"\"learned\"", "\"sinusoid\""},
                                                     {"\"relu\"", "\"swish\""},
                                                     {"\"none\"", "\"target\""},
                                                     {"\"before_scale\"", "\"after_scale\""}};
    std::set<std::string> names;
    for (std::sregex_iterator i(text.begin(), text.end(), line), end; i != end; ++i) {
        const auto found = changed.find((*i)[2]);
        const std::string value =
            found != changed.end()
                ? found->second
                : ((*i)[2].str().find_first_of(".e") == std::string::npos ? "5" : "0.5");
        std::string other = text;
        other.replace(static_cast<std::size_t>(i->position(2)),
                      static_cast<std::size_t>(i->length(2)), value);
        CHECK(other != text);
        CHECK(to_json(transformer_options(other)) == other);
        names.insert((*i)[1]);
    }
    CHECK(names.size() == 30);
}

TEST_CASE("JSON from before tables had a deviation is that of tables with 1") {
    CHECK(to_json(altered("  \"embedding_deviation\": 1.0,\n", "")) ==
          to_json(TransformerOptions::toy()));
}

TEST_CASE("JSON says numbers as people write them, and choices as words") {
    const std::string toy = to_json(TransformerOptions::toy());
    for (const char* text : {"\"d_model\": 512", "\"position_dropout\": 0.1", "\"norm_eps\": 1e-05",
                             "\"mask_fill\": -1000000000.0", "\"padding_id\": null",
                             "\"mask_fill_place\": \"after_scale\"", "\"norm_affine\": false"})
        CHECK_THAT(toy, Contains(text));
    CHECK(altered("\"dropout\": 0.0", "\"dropout\": 0").layer.add_norm.dropout == 0);
}

TEST_CASE("options that are no options are refused, and the field is named") {
    const auto refused = [](const char* from, const char* to, const char* message) {
        CHECK_THROWS_WITH(altered(from, to), Contains(message));
    };
    refused("\"d_ff\": 2048,", "", "model options: no field d_ff");
    refused("\"d_ff\"", "\"d_fff\"", "unknown field d_fff");
    refused("\"d_ff\": 2048", "\"d_ff\": 2048, \"d_ff\": 1024", "\"d_ff\" occurs twice");
    refused("2048", "\"2048\"", "d_ff is \"2048\", expected a whole number");
    refused("2048", "2048.5", "d_ff is 2048.5, expected a whole number");
    refused("2048", "18446744073709551615",
            "d_ff is 18446744073709551615, expected a whole number of");
    refused("\"pad\": 0", "\"pad\": 4294967296",
            "pad is 4294967296, expected a whole number of 32 bits");
    refused("\"bias_out\": false", "\"bias_out\": 0", "bias_out is 0, expected true or false");
    refused("\"norm_eps\": 1e-05", "\"norm_eps\": \"small\"",
            "norm_eps is \"small\", expected a number");
    refused("\"norm_eps\": 1e-05", "\"norm_eps\": 1e400", "not JSON");
    refused("\"after_scale\"", "0", "mask_fill_place is 0, expected after_scale or before_scale");
    refused("\"after_scale\"", "\"after\"", "expected after_scale or before_scale");
    refused("\"post\"", "\"Pre\"", "expected post or pre");
    refused("\"sinusoid\"", "\"rotary\"", "expected sinusoid or learned or sines_then_cosines");
    refused("\"relu\"", "\"gelu\"", "activation is \"gelu\", expected relu or swish");
    refused("\"none\"", "\"both\"", "tied_embeddings is \"both\", expected none or target or all");
    refused("\"embedding_deviation\": 1.0", "\"embedding_deviation\": true", "expected a number");
    refused("null", "-1", "padding_id is -1, expected null or an id");
    refused("null", "\"P\"", "padding_id is \"P\", expected a whole number");
    refused("512,", "512", "not JSON");

    CHECK_THROWS_WITH(altered("2048", std::string(30000, '[') + std::string(30000, ']')),
                      Contains("nested deeper than 2"));
    CHECK_THROWS_WITH(altered("2048", std::string(70000, ' ') + "2048"),
                      Contains("expected at most 65536"));
    CHECK_THROWS_WITH(transformer_options(""), Contains("not JSON"));
    CHECK_THROWS_WITH(transformer_options("{}"), Contains("no field src_words"));
    CHECK_THROWS_WITH(transformer_options("[]"), Contains("array, expected an object"));
    CHECK_THROWS_WITH(transformer_options("{\"src_words\": 1} x"), Contains("not JSON"));
    TransformerOptions endless = TransformerOptions::toy();
    endless.layer.attention.attention.fill = -std::numeric_limits<Real>::infinity();
    CHECK_THROWS_WITH(to_json(endless), Contains("mask_fill is -inf"));
}
