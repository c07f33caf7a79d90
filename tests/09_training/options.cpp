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

Index count_parameters(const TransformerOptions& options) {
    Transformer model(options, Random(1));
    return count_elements(parameters_of(model));
}

/// The JSON of the toy with one text in it replaced; then read.
TransformerOptions altered(const std::string& from, const std::string& to) {
    std::string text = to_json(TransformerOptions::toy());
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return transformer_options(text.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("the toy has 44,058,112 parameters") {
    Transformer model(TransformerOptions::toy(), Random(1));
    CHECK(count_elements(parameters_of(model)) == 44'058'112);
    std::set<std::string> names;
    for (const NamedParameter& p : parameters_of(model)) names.insert(p.name);
    CHECK(names.size() == 6 * (4 + 2) + 6 * (8 + 2) + 3);  // all of them matrices
    CHECK(names.count("encoder.layers.5.self_attn.w_q.weight") == 1);
    CHECK(names.count("decoder.layers.0.multihead_attn.w_v.weight") == 1);
    CHECK(names.count("output.weight") == 1);
}

TEST_CASE("the German-English notebook, completed, has 44,150,793 parameters") {
    CHECK(count_parameters(TransformerOptions::notebook()) == 44'150'793);
}

TEST_CASE("the architecture article's system has the parameters that one counts by hand") {
    constexpr Index d = 512, ff = 2048, words = 1000;
    constexpr Index attention = 4 * (d * d + d);
    constexpr Index feed_forward = (d * ff + ff) + (ff * d + d);
    constexpr Index norm = 2 * d;
    constexpr Index encoder_layer = attention + feed_forward + 2 * norm;
    constexpr Index decoder_layer = 2 * attention + feed_forward + 3 * norm;
    constexpr Index embeddings = 2 * words * d, output = d * words + words;
    CHECK(count_parameters(TransformerOptions::article()) ==
          6 * encoder_layer + 6 * decoder_layer + embeddings + output);
}

TEST_CASE("the shared-head block has 7,620,618 parameters and gives logits [2, 7, 10]") {
    Transformer model(TransformerOptions::shared_heads(), Random(1));
    CHECK(count_elements(parameters_of(model)) == 7'620'618);
    const Ids src({2, 9}, {1, 5, 6, 4, 3, 9, 5, 2, 0, 1, 8, 7, 3, 4, 5, 6, 7, 2});
    const Ids tgt({2, 7}, {1, 7, 4, 3, 5, 9, 2, 1, 5, 6, 2, 4, 7, 6});
    CHECK(model.logits(src, tgt).shape() == Shape{2, 7, 10});
}

TEST_CASE("the systems of the four source texts differ where the texts do") {
    const auto toy = TransformerOptions::toy(), notebook = TransformerOptions::notebook(),
               article = TransformerOptions::article(), shared = TransformerOptions::shared_heads();
    for (const auto* o : {&toy, &notebook, &article}) {
        CHECK(o->layer.attention.attention.fill == Real(-1e9));
        CHECK(o->layer.attention.attention.scale == 0);
        CHECK(o->positions.kind == Positions::sinusoid);
        CHECK(o->positions.max_len == 5000);
        CHECK(o->positions.dropout == Real(0.1));
        CHECK(o->mask_target_pads);
    }
    CHECK(!toy.layer.add_norm.norm.affine);
    CHECK(!toy.layer.attention.bias_qkv);
    CHECK(!toy.output_bias);
    CHECK(notebook.layer.add_norm.norm.affine);
    CHECK(notebook.layer.add_norm.dropout == 0);
    CHECK(article.embedding.scale);
    CHECK(article.embedding.padding_id == -1);
    CHECK(article.layer.add_norm.dropout == Real(0.1));
    CHECK(shared.layer.attention.shared_head_projections);
    CHECK(shared.layer.attention.attention.fill == Real(-1e20));
    CHECK(shared.layer.attention.attention.fill_place == FillPlace::before_scale);
    CHECK(shared.layer.attention.attention.scale == Real(1) / 16);
    CHECK(shared.positions.kind == Positions::learned);
    CHECK(shared.positions.max_len == 100);
    CHECK(!shared.mask_target_pads);
    for (const auto* o : {&toy, &notebook, &article, &shared})
        CHECK(o->layer.add_norm.placement == NormPlacement::post);
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
    CHECK(names.size() == 29);
}

TEST_CASE("JSON says numbers as people write them, and choices as words") {
    const std::string toy = to_json(TransformerOptions::toy());
    for (const char* text : {"\"d_model\": 512", "\"position_dropout\": 0.1", "\"norm_eps\": 1e-05",
                             "\"mask_fill\": -1000000000.0", "\"padding_id\": null",
                             "\"mask_fill_place\": \"after_scale\"", "\"norm_placement\": \"post\"",
                             "\"positions\": \"sinusoid\"", "\"norm_affine\": false"})
        CHECK_THAT(toy, Contains(text));
    const std::string shared = to_json(TransformerOptions::shared_heads());
    for (const char* text :
         {"\"shared_head_projections\": true", "\"mask_fill_place\": \"before_scale\"",
          "\"positions\": \"learned\"", "\"attention_scale\": 0.0625"})
        CHECK_THAT(shared, Contains(text));
    const std::string marian = to_json(marian_like());
    for (const char* text : {"\"activation\": \"swish\"", "\"tied_embeddings\": \"all\"",
                             "\"positions\": \"sines_then_cosines\""})
        CHECK_THAT(marian, Contains(text));
    CHECK_THAT(toy,
               Contains("\"activation\": \"relu\"") && Contains("\"tied_embeddings\": \"none\""));
    CHECK_THAT(to_json(paper_like(NormPlacement::pre)),
               Contains("\"norm_placement\": \"pre\"") && Contains("\"padding_id\": 0"));
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
