#include <algorithm>
#include <nlohmann/json.hpp>

#include "chapters/15_language_model/published/byte_tokenizer.hpp"
#include "lib/io/files.hpp"
#include "lib/io/text.hpp"
#include "lib/tensor.hpp"

namespace abh {
namespace {
// [expect]
using nlohmann::json;

std::string shown(const json& value) {
    return printable(value.dump(), 200);
}

/// Refuses a value unless it is one of those that mean what is built here; what is missing is null.
void expect(const json& all, const std::string& place, const std::vector<json>& built) {
    const json::json_pointer at(place);
    const json found = all.contains(at) ? all[at] : json();
    require(std::ranges::find(built, found) != built.end(), "{} is {}, expected {}", place,
            shown(found), shown(built[0]));
}

const std::vector<json> off{nullptr, false, ""};
// [built]
void require_built(const json& all) {
    json cutting = json::parse(R"({"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": true},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
    ]})");
    json other = cutting;
    other["pretokenizers"][1]["trim_offsets"] = false;  // changes no piece
    expect(all, "/pre_tokenizer", {cutting, other});
    for (const char* place : {"/post_processor/type", "/decoder/type"})
        expect(all, place, {"ByteLevel", nullptr});
    expect(all, "/model/type", {"BPE"});
    for (const char* place :
         {"/normalizer", "/model/dropout", "/model/unk_token", "/model/continuing_subword_prefix",
          "/model/end_of_word_suffix", "/model/byte_fallback", "/model/ignore_merges"})
        expect(all, place, off);
}
// [lists]
/// Adds the special pieces to a vocabulary, which may have them already, and returns their ids.
std::vector<json> add_special(const json& tokens, json& vocabulary) {
    std::vector<json> ids;
    for (const json& token : tokens) {
        for (const char* property : {"/lstrip", "/rstrip", "/single_word", "/normalized"})
            expect(token, property, off);
        require(
            token.is_object() && token.value("content", json()).is_string() && token.contains("id"),
            "an added token is {}, expected content and id", shown(token));
        ids.push_back(token["id"]);
        const json& id = vocabulary.emplace(token["content"], ids.back()).first.value();
        require(id == ids.back(), "{} has the ids {} and {}", shown(token["content"]), shown(id),
                shown(ids.back()));
    }
    return ids;
}

std::vector<std::string> pieces_by_id(const json& vocabulary) {
    std::vector<std::string> pieces(vocabulary.size());
    for (const auto& [piece, id] : vocabulary.items()) {
        const std::size_t i = id.is_number_unsigned() ? id.get<std::size_t>() : pieces.size();
        if (i >= pieces.size() || !pieces[i].empty())
            throw std::invalid_argument(
                fmt::format("\"{}\" has id {}, expected each id below {} once",
                            printable(piece, 60), shown(id), pieces.size()));
        pieces[i] = piece;
    }
    return pieces;
}

/// A merge is a text with a space, or, in newer files, a list of two texts.
std::string merge_of(const json& merge) {
    if (merge.is_string()) return merge;
    const auto is_text = [](const json& piece) { return piece.is_string(); };
    if (!merge.is_array() || merge.size() != 2 || !std::ranges::all_of(merge, is_text))
        throw std::invalid_argument(
            fmt::format("a merge is {}, expected two pieces", shown(merge)));
    return merge[0].get<std::string>() + ' ' + merge[1].get<std::string>();
}

}  // namespace
// [tokenizer.json]
BytePieces parse_tokenizer_json(std::string_view text) {
    json all = strict_json(text);
    require_built(all);
    json &vocabulary = all["model"]["vocab"], &merges = all["model"]["merges"];
    require(vocabulary.is_object(), "/model/vocab is no object");
    const std::vector<json> special = add_special(all["added_tokens"], vocabulary);
    const std::vector<std::string> pieces = pieces_by_id(vocabulary);
    std::vector<std::string> pairs;
    std::ranges::transform(merges, std::back_inserter(pairs), merge_of);
    return byte_pieces(pieces, {special.begin(), special.end()}, pairs);
}

BytePieces load_tokenizer_json(const std::filesystem::path& path) {
    const std::string text = read_file(path, JsonLimits().bytes);
    try {
        const std::string kind = foreign_kind(text);
        require(kind.empty(), "{}", kind);
        return parse_tokenizer_json(text);
    } catch (const std::invalid_argument& error) {
        throw std::runtime_error(fmt::format("{}: {}", printable(path.string()), error.what()));
    }
}

}  // namespace abh
