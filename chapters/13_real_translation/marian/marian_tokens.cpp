#include "chapters/13_real_translation/marian/marian_tokens.hpp"

#include <algorithm>
#include <map>

#include "chapters/13_real_translation/marian/marian_json.hpp"

namespace abh {
// [added]
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A file that need not be there.
Fields fields_of(const fs::path& path) {
    return fs::exists(path) ? Fields(path) : Fields(path, json::object());
}

/// A token stands in a file as its text, or as an object with its text and its properties.
class Added {
public:
    Added(const PieceIds& ids, Index n_words) : ids_(ids), n_words_(n_words) {}

    void add(const Fields& file, const json& token, const json& id) {
        const std::string text = text_of(file, token);
        if (!is_below(id, n_words_))
            file.fail("the token {} has id {}, expected one below {}", text, id.dump(), n_words_);
        for (const char* name : {"lstrip", "rstrip", "single_word"})
            if (has(token, name))
                file.fail("{} of the token {} is true, expected false", name, text);
        tokens_[text] = {text, id.get<std::int32_t>(), has(token, "special")};
    }
    /// A symbol, which has an id already: here, or among the pieces.
    void add_special(const Fields& file, const json& token) {
        const std::string text = text_of(file, token);
        if (!tokens_.contains(text)) {
            if (!ids_.contains(text)) file.fail("the token {} has no id", text);
            tokens_[text] = {text, ids_.at(text)};
        }
        tokens_[text].special = true;
    }
    std::vector<AddedToken> all() const {
        std::vector<AddedToken> list;
        for (const auto& [text, token] : tokens_) list.push_back(token);
        return list;
    }

    static std::string text_of(const Fields& file, const json& token) {
        const json& text = token.is_object() ? token.value("content", json()) : token;
        if (!text.is_string() || text == "") file.fail("{} is no token", token.dump());
        return text.get<std::string>();
    }

private:
    static bool has(const json& token, const char* property) {
        return token.is_object() && token.value(property, json()) == true;
    }

    const PieceIds& ids_;
    Index n_words_;
    std::map<std::string, AddedToken> tokens_;
};

/// Adds what a file calls a symbol: `eos_token`, `sep_token`, ..., and lists of further ones.
void add_symbols(const Fields& file, Added& added) {
    for (const auto& [name, value] : file.all().items()) {
        if (name.ends_with("_token") && (value.is_string() || value.is_object()))
            added.add_special(file, value);
        if ((name == "additional_special_tokens" || name == "extra_special_tokens") &&
            value.is_structured())
            for (const json& token : value) added.add_special(file, token);
    }
}
// [read]
json as_number(const std::string& digits) {
    const bool number = !digits.empty() && digits.size() <= 9 &&
                        digits.find_first_not_of("0123456789") == digits.npos;
    return number ? json(static_cast<std::uint64_t>(std::stoul(digits))) : json(digits);
}

void require_known(const Fields& f) {
    if (f.has("tokenizer_class"))
        f.expect(f.value("tokenizer_class") == "MarianTokenizer", "tokenizer_class",
                 "\"MarianTokenizer\"");
    for (const char* name : {"sp_model_kwargs", "auto_map"})
        if (f.has(name)) f.expect(f.value(name).empty(), name, "none");
    f.expect(!f.flag("split_special_tokens", false), "split_special_tokens", "false");
}

/// The symbols that every model of Marian has, where the files call them otherwise.
void require_symbols(const Fields& f, const PieceIds& ids, std::int32_t end) {
    if (f.has("unk_token") && Added::text_of(f, f.value("unk_token")) != "<unk>")
        f.expect(false, "unk_token", "<unk>");
    const std::string text = f.has("eos_token") ? Added::text_of(f, f.value("eos_token")) : "</s>";
    if (const auto found = ids.find(text); found != ids.end() && found->second != end)
        f.fail("the end symbol {} has id {}, expected {} as config.json says", text, found->second,
               end);
}

}  // namespace

MarianTokens read_marian_tokens(const fs::path& folder, const PieceIds& ids, Index n_words,
                                std::int32_t end) {
    const Fields f = fields_of(folder / "tokenizer_config.json");
    require_known(f);
    Added added(ids, n_words);
    for (const char* symbol : {"</s>", "<unk>", "<pad>"})
        if (ids.contains(symbol)) added.add_special(f, symbol);
    if (f.has("added_tokens_decoder")) {
        for (const auto& [id, token] : f.value("added_tokens_decoder").items())
            added.add(f, token, as_number(id));
        require_symbols(f, ids, end);
    } else {
        const Fields texts = fields_of(folder / "added_tokens.json"),
                     symbols = fields_of(folder / "special_tokens_map.json"),
                     whole = fields_of(folder / "tokenizer.json");
        for (const auto& [text, id] : texts.all().items()) added.add(texts, text, id);
        if (whole.has("added_tokens"))
            for (const json& token : whole.value("added_tokens"))
                added.add(whole, token, token.is_object() ? token.value("id", json()) : json());
        add_symbols(symbols, added);
        require_symbols(symbols.has("eos_token") ? symbols : f, ids, end);
    }
    add_symbols(f, added);
    return {.two_vocabularies = f.flag("separate_vocabs", fs::exists(folder / "target_vocab.json")),
            .clean_up = f.flag("clean_up_tokenization_spaces", false),
            .added = added.all()};
}
// [split]
std::vector<TextPart> split_at_tokens(const std::string& text,
                                      const std::vector<AddedToken>& added) {
    std::vector<TextPart> parts;
    std::size_t begin = 0;  // of the text that no token has taken
    const auto take_until = [&](std::size_t end) {
        if (end > begin) parts.push_back({text.substr(begin, end - begin)});
    };
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* longest = nullptr;
        for (const AddedToken& token : added)
            if (text.compare(at, token.text.size(), token.text) == 0 &&
                (!longest || token.text.size() > longest->text.size()))
                longest = &token;
        if (!longest) {
            ++at;
            continue;
        }
        take_until(at);
        parts.push_back({longest->text, longest});
        begin = at += longest->text.size();
    }
    take_until(text.size());
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
                                   {" 're", "'re"}}) {
        const std::string_view old = from, other = to;
        for (std::size_t at = 0; (at = text.find(old, at)) != text.npos; at += other.size())
            text.replace(at, old.size(), other);
    }
    return text;
}

}  // namespace abh
