#include "chapters/13_real_translation/marian/marian_tokens.hpp"

#include <algorithm>
#include <map>

#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/marian/marian_json.hpp"

namespace abh {
// [added]
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A token stands in a file as its text, or as an object with its text and its properties.
std::string text_of(const Fields& file, const json& token) {
    const json& text = token.is_object() ? token.value("content", json()) : token;
    if (!text.is_string() || text == "") file.fail("{} is no token", token.dump());
    return text.get<std::string>();
}

bool has(const json& token, const char* property) {
    return token.is_object() && token.value(property, json()) == true;
}

/// The tokens of some files, by their texts.
struct Added {
    const PieceIds& ids;
    Index n_words;
    std::map<std::string, AddedToken> tokens = {};

    void add(const Fields& file, const json& token, const json& id) {
        const std::string text = text_of(file, token);
        if (!is_below(id, n_words))
            file.fail("the token {} has id {}, expected one below {}", text, id.dump(), n_words);
        for (const char* name : {"lstrip", "rstrip", "single_word"})
            if (has(token, name))
                file.fail("{} of the token {} is true, expected false", name, text);
        tokens[text] = {text, id.get<std::int32_t>(), has(token, "special")};
    }
    /// A symbol, which has an id already: here, or among the pieces.
    void add_symbol(const Fields& file, const json& token) {
        const std::string text = text_of(file, token);
        if (!tokens.contains(text)) {
            if (!ids.contains(text)) file.fail("the token {} has no id", text);
            tokens[text] = {text, ids.at(text)};
        }
        tokens[text].special = true;
    }
    /// What a file calls a symbol: `eos_token`, `sep_token`, ..., and lists of further ones.
    void add_symbols(const Fields& file) {
        for (const auto& [name, value] : file.all().items()) {
            if (name.ends_with("_token") && (value.is_string() || value.is_object()))
                add_symbol(file, value);
            if ((name == "additional_special_tokens" || name == "extra_special_tokens") &&
                value.is_structured())
                for (const json& token : value) add_symbol(file, token);
        }
    }
};
// [read]
/// An id that is the name of a field.
json as_number(const std::string& digits) {
    const bool number = !digits.empty() && digits.size() <= 9 &&
                        digits.find_first_not_of("0123456789") == digits.npos;
    return number ? json(std::stoul(digits)) : json(digits);
}

/// The symbols that every model of Marian has, where the files call them otherwise.
void require_symbols(const Fields& f, const PieceIds& ids, std::int32_t end) {
    if (f.has("unk_token"))
        f.expect(text_of(f, f.value("unk_token")) == "<unk>", "unk_token", "<unk>");
    const std::string text = f.has("eos_token") ? text_of(f, f.value("eos_token")) : "</s>";
    if (const auto found = ids.find(text); found != ids.end() && found->second != end)
        f.fail("the end symbol {} has id {}, expected {} as config.json says", text, found->second,
               end);
}

}  // namespace

MarianTokens read_marian_tokens(const fs::path& folder, const PieceIds& ids, Index n_words,
                                std::int32_t end) {
    const Fields f = Fields::if_there(folder / "tokenizer_config.json");
    f.expect_usual("MarianTokenizer", {"tokenizer_class"});
    f.expect_usual("none", {"sp_model_kwargs", "auto_map"});
    f.expect_usual(false, {"split_special_tokens"});
    Added added{ids, n_words};
    for (const char* symbol : {"</s>", "<unk>", "<pad>"})
        if (ids.contains(symbol)) added.add_symbol(f, symbol);
    if (f.has("added_tokens_decoder")) {
        for (const auto& [id, token] : f.value("added_tokens_decoder").items())
            added.add(f, token, as_number(id));
        require_symbols(f, ids, end);
    } else {
        const Fields texts = Fields::if_there(folder / "added_tokens.json"),
                     symbols = Fields::if_there(folder / "special_tokens_map.json"),
                     whole = Fields::if_there(folder / "tokenizer.json");
        for (const auto& [text, id] : texts.all().items()) added.add(texts, text, id);
        if (whole.has("added_tokens"))
            for (const json& token : whole.value("added_tokens"))
                added.add(whole, token, token.is_object() ? token.value("id", json()) : json());
        added.add_symbols(symbols);
        require_symbols(symbols.has("eos_token") ? symbols : f, ids, end);
    }
    added.add_symbols(f);
    MarianTokens read{
        .two_vocabularies = f.flag("separate_vocabs", fs::exists(folder / "target_vocab.json")),
        .clean_up = f.flag("clean_up_tokenization_spaces", false)};
    for (const auto& [text, token] : added.tokens) read.added.push_back(token);
    return read;
}
// [split]
std::vector<TextPart> split_at_tokens(const std::string& text,
                                      const std::vector<AddedToken>& added) {
    std::vector<TextPart> parts;
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* longest = nullptr;
        for (const AddedToken& token : added)
            if (text.compare(at, token.text.size(), token.text) == 0 &&
                (!longest || token.text.size() > longest->text.size()))
                longest = &token;
        if (longest)
            parts.push_back({longest->text, longest});
        else if (parts.empty() || parts.back().token)
            parts.push_back({text.substr(at, 1)});
        else
            parts.back().text += text[at];
        at += longest ? longest->text.size() : 1;
    }
    return parts;
}

std::string without_spaces_before_marks(std::string text) {
    for (const auto& [from, to] : {std::pair{" .", "."},
                                   {" ?", "?"},
                                   {" !", "!"},
                                   {" ,", ","},
                                   {" ' ", "'"},
                                   {" n't", "n't"},
                                   {" 'm", "'m"},
                                   {" 's", "'s"},
                                   {" 've", "'ve"},
                                   {" 're", "'re"}})
        text = replaced(std::move(text), from, to);
    return text;
}

}  // namespace abh
