#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "chapters/09_training/model/transformer.hpp"
#include "lib/io/text.hpp"

namespace abh {
// [presets]
TransformerOptions TransformerOptions::toy() {
    TransformerOptions o;
    o.src_words = 11;
    o.tgt_words = 12;
    o.layer = toy_layer();
    o.positions.dropout = Real(0.1);
    o.output_bias = false;
    return o;
}

TransformerOptions TransformerOptions::notebook() {
    TransformerOptions o;
    o.src_words = 6;
    o.tgt_words = 9;
    o.layer = notebook_layer();
    o.positions.dropout = Real(0.1);
    return o;
}

TransformerOptions TransformerOptions::article() {
    TransformerOptions o;
    o.src_words = o.tgt_words = 1000;
    o.layer.add_norm.dropout = Real(0.1);
    o.embedding.scale = true;
    o.positions.dropout = Real(0.1);
    return o;
}

TransformerOptions TransformerOptions::shared_heads() {
    TransformerOptions o;
    o.src_words = o.tgt_words = 10;
    o.layer = shared_head_layer();
    o.positions = {.kind = Positions::learned, .max_len = 100};
    o.mask_target_pads = false;
    return o;
}
// [fields]
namespace {

using json = nlohmann::ordered_json;  // fields stay in the order of each_field

/// A field that holds an id, or null if it is negative.
template <class Id>
struct IdOrNull {
    Id& id;
};
// clang before 17 does not deduce this for an aggregate
template <class Id>
IdOrNull(Id&) -> IdOrNull<Id>;

/// Older files lack this field. It matters only before training.
constexpr const char* start_of_tables = "embedding_deviation";

/// Calls `f(name, field)` for every option of a model, so that writing and reading share one list.
template <class Options, class F>
void each_field(Options& o, const F& f) {
    f("src_words", o.src_words);
    f("tgt_words", o.tgt_words);
    f("n_encoder_layers", o.n_encoder_layers);
    f("n_decoder_layers", o.n_decoder_layers);
    f("d_model", o.layer.attention.d_model);
    f("n_heads", o.layer.attention.n_heads);
    f("d_ff", o.layer.d_ff);
    f("bias_qkv", o.layer.attention.bias_qkv);
    f("bias_out", o.layer.attention.bias_out);
    f("shared_head_projections", o.layer.attention.shared_head_projections);
    f("attention_scale", o.layer.attention.attention.scale);
    f("mask_fill", o.layer.attention.attention.fill);
    f("mask_fill_place", o.layer.attention.attention.fill_place);
    f("ff_bias", o.layer.ff_bias);
    f("activation", o.layer.activation);
    f("norm_placement", o.layer.add_norm.placement);
    f("norm_affine", o.layer.add_norm.norm.affine);
    f("norm_eps", o.layer.add_norm.norm.eps);
    f("dropout", o.layer.add_norm.dropout);
    f("dropout_after_norm", o.layer.add_norm.dropout_after_norm);
    f("scale_embedding", o.embedding.scale);
    f("padding_id", IdOrNull{o.embedding.padding_id});
    f(start_of_tables, o.embedding.deviation);
    f("positions", o.positions.kind);
    f("max_len", o.positions.max_len);
    f("position_dropout", o.positions.dropout);
    f("output_bias", o.output_bias);
    f("pad", o.pad);
    f("mask_target_pads", o.mask_target_pads);
    f("tied_embeddings", o.tied);
}
// [words]
/// The words for the values of an enumeration, in its order.
constexpr auto words_of(FillPlace) {
    return std::array{"after_scale", "before_scale"};
}
constexpr auto words_of(NormPlacement) {
    return std::array{"post", "pre"};
}
constexpr auto words_of(Activation) {
    return std::array{"relu", "swish"};
}
constexpr auto words_of(Positions) {
    return std::array{"sinusoid", "learned", "sines_then_cosines", "none"};
}
constexpr auto words_of(Tied) {
    return std::array{"none", "target", "all"};
}
template <class T>
concept Choice = std::is_enum_v<T>;
// [write]
template <std::integral T>
json written(const char*, T value) {
    return value;
}

json written(const char* name, Real value) {
    require(std::isfinite(value), "model options: {} is {}, which JSON cannot represent", name,
            value);
    return std::stod(fmt::format("{}", value));  // 0.1, not the float next to it
}

json written(const char*, Choice auto value) {
    return words_of(value)[static_cast<std::size_t>(value)];
}

json written(const char*, IdOrNull<const std::int32_t> field) {
    return field.id < 0 ? json(nullptr) : json(field.id);
}

}  // namespace

std::string to_json(const TransformerOptions& options) {
    json values;
    each_field(options,
               [&](const char* name, const auto& field) { values[name] = written(name, field); });
    return values.dump(2);
}
// [read a field]
namespace {

void expect(bool ok, const char* name, const json& value, const std::string& expected) {
    require(ok, "model options: {} is {}, expected {}", name, value.dump(), expected);
}

void read(const char* name, const json& value, bool& field) {
    expect(value.is_boolean(), name, value, "true or false");
    field = value.get<bool>();
}

template <std::integral T>
void read(const char* name, const json& value, T& field) {
    expect(value.is_number_integer(), name, value, "a whole number");
    const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                 : std::in_range<T>(value.get<std::int64_t>());
    expect(fits, name, value, fmt::format("a whole number of {} bits", 8 * sizeof(T)));
    field = value.get<T>();
}

void read(const char* name, const json& value, Real& field) {
    expect(value.is_number() && std::isfinite(value.get<Real>()), name, value, "a number");
    field = value.get<Real>();
}

template <Choice T>
void read(const char* name, const json& value, T& field) {
    const auto words = words_of(field);
    std::string expected = words.front();
    for (std::size_t i = 1; i < words.size(); ++i) expected += std::string(" or ") + words[i];
    const auto found = std::ranges::find_if(words, [&](const char* w) { return value == w; });
    expect(found != words.end(), name, value, expected);
    field = static_cast<T>(found - words.begin());
}

void read(const char* name, const json& value, IdOrNull<std::int32_t> field) {
    field.id = -1;
    if (!value.is_null()) read(name, value, field.id);
    expect(value.is_null() || field.id >= 0, name, value, "null or an id");
}
// [read]
}  // namespace

TransformerOptions transformer_options(const std::string& text) {
    TransformerOptions options;
    json values;
    try {
        values = strict_json(text, {.bytes = 1 << 16, .depth = 2});
    } catch (const std::invalid_argument& error) {
        require(false, "model options: {}", error.what());
    }
    std::set<std::string> names;
    each_field(options, [&](const char* name, const auto&) { names.insert(name); });
    for (const auto& [name, value] : values.items())
        require(names.count(name) == 1, "model options: unknown field {}", name);
    each_field(options, [&](const char* name, auto&& field) {
        const bool there = values.contains(name);
        require(there || name == start_of_tables, "model options: no field {}", name);
        if (there) read(name, values[name], field);
    });
    return options;
}

}  // namespace abh
