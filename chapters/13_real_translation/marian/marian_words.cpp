#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/marian/marian.hpp"
#include "chapters/13_real_translation/marian/marian_json.hpp"
#include "lib/io/unicode.hpp"

namespace abh {
// [vocabulary]
namespace {

using nlohmann::json;

/// The ids of a vocabulary; all are below `n_words`, and none occurs twice.
PieceIds read_ids(const std::filesystem::path& path, Index n_words) {
    PieceIds ids;
    std::set<std::int32_t> seen;
    const Fields vocabulary(path);
    for (const auto& [piece, id] : vocabulary.all().items()) {
        if (!is_below(id, n_words))
            vocabulary.fail("{} has id {}, expected one below {}", piece, id.dump(), n_words);
        if (!seen.insert(id.get<std::int32_t>()).second)
            vocabulary.fail("{} has id {}, which another piece has, too", piece, id.dump());
        ids[piece] = id.get<std::int32_t>();
    }
    return ids;
}
// [tokens]
/// A text that is one id and is never cut, and the file that says so.
struct Token {
    std::string text;
    std::filesystem::path file;
};

/// The text of a token, which a file has bare or with properties. Refuses those that make the text
/// around it another one.
std::string text_of(const Fields& f, const json& token) {
    const json text = token.is_object() ? token.value("content", json()) : token;
    if (!text.is_string() || text == "") f.fail("the token {} has no text", token.dump());
    for (const char* property : {"lstrip", "rstrip", "single_word"})
        if (token.is_object() && token.value(property, json(false)) != false)
            f.fail("{} of the token {} is {}, expected false: spaces beside a token are kept here",
                   property, text.dump(), token[property].dump());
    return text.get<std::string>();
}

/// What a folder's files say about tokens. If tokenizer_config.json lists the added tokens, it
/// alone counts; if not, special_tokens_map.json wins where both say something.
class TokenFiles {
public:
    explicit TokenFiles(const std::filesystem::path& folder)
        : vocabulary_(folder / "vocab.json"),
          settings_(Fields::if_there(folder / "tokenizer_config.json")),
          others_(!settings_.has("added_tokens_decoder")),
          map_(Fields::if_there(folder / "special_tokens_map.json", others_)),
          added_(Fields::if_there(folder / "added_tokens.json", others_)),
          fast_(Fields::if_there(folder / "tokenizer.json", others_)) {
        for (const Fields* f : {&settings_, &map_}) f->require_usual("tokenizer_config.json");
    }

    /// The file that says what a field is.
    const Fields& file_of(const std::string& field) const {
        return map_.has(field) ? map_ : settings_;
    }
    bool flag(const char* field) const { return file_of(field).flag(field, false); }
    /// The token with a name such as eos_token; without text if there is none.
    Token named(const std::string& name) const;
    /// The tokens whose ids are listed, with these ids as the files have them.
    std::vector<std::pair<Token, json>> listed() const;
    /// The special tokens. Those without an id get the next ones, in this order.
    std::vector<Token> special() const;

private:
    std::vector<Token> special_without_name() const;

    std::filesystem::path vocabulary_;
    Fields settings_;
    bool others_;
    Fields map_, added_, fast_;
};

Token TokenFiles::named(const std::string& name) const {
    static const std::map<std::string, std::string> usual{
        {"unk_token", "<unk>"}, {"eos_token", "</s>"}, {"pad_token", "<pad>"}};
    const Fields& f = file_of(name);
    if (f.has(name)) return {text_of(f, f.value(name)), f.path()};
    const auto found = usual.find(name);
    return {found == usual.end() ? "" : found->second, vocabulary_};
}

std::vector<std::pair<Token, json>> TokenFiles::listed() const {
    std::vector<std::pair<Token, json>> all;
    if (constexpr const char* list = "added_tokens_decoder"; settings_.has(list)) {
        settings_.expect(settings_.value(list).is_object(), list, "an object");
        for (const auto& [id, token] : settings_.value(list).items())
            all.emplace_back(Token{text_of(settings_, token), settings_.path()},
                             json::parse(id, nullptr, false));
    }
    for (const auto& [text, id] : added_.all().items())
        all.emplace_back(Token{text, added_.path()}, id);
    if (!fast_.has("added_tokens")) return all;
    for (const json& token : fast_.value("added_tokens"))
        all.emplace_back(Token{text_of(fast_, token), fast_.path()},
                         token.is_object() ? token.value("id", json()) : json());
    return all;
}

std::vector<Token> TokenFiles::special() const {
    std::vector<Token> all;
    for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                             "cls_token", "mask_token"})
        if (Token token = named(name); !token.text.empty()) all.push_back(std::move(token));
    std::ranges::move(special_without_name(), std::back_inserter(all));
    return all;
}

std::vector<Token> TokenFiles::special_without_name() const {
    std::optional<std::vector<Token>> all;
    for (const Fields* const f : {&settings_, &map_})
        for (const char* list : {"extra_special_tokens", "additional_special_tokens"}) {
            if (!f->has(list) || f->value(list) == json::object()) continue;
            const auto is_token = [](const json& token) {
                return token.is_string() || (token.is_object() && token.contains("__type"));
            };
            f->expect(f->value(list).is_array() && std::ranges::all_of(f->value(list), is_token),
                      list, "a list of texts");
            std::vector<Token> tokens;
            for (const json& token : f->value(list))
                tokens.push_back({text_of(*f, token), f->path()});
            f->expect(!all || std::ranges::equal(*all, tokens, {}, &Token::text, &Token::text),
                      list, "the same tokens as in the other lists of special ones");
            all = std::move(tokens);
        }
    return all.value_or(std::vector<Token>());
}

struct Tokens {
    std::map<std::string, std::int32_t> ids;
    std::set<std::int32_t> special;
};

/// All tokens that are never cut: those whose ids are listed, and the special ones, which have the
/// id of a piece or the next that is free.
Tokens read_tokens(const TokenFiles& files, const PieceIds& vocabulary, Index n_words) {
    Tokens tokens;
    std::set<std::int32_t> seen;
    auto next = vocabulary.size();
    const auto add = [&](const Token& token, const json& id) {
        if (!is_below(id, n_words))
            refuse(token.file,
                   "the token {} has id {}, but the model knows {} words; take the token out, or "
                   "enlarge the model by resize_token_embeddings",
                   token.text, id.dump(), n_words);
        const auto number = id.get<std::int32_t>();
        const auto known = tokens.ids.find(token.text);
        if (known != tokens.ids.end() && known->second == number) return;
        if (known != tokens.ids.end() || !seen.insert(number).second)
            refuse(token.file, "the token {} or its id {} occurs twice", token.text, number);
        tokens.ids[token.text] = number;
        next += !vocabulary.contains(token.text);
    };
    for (const auto& [token, id] : files.listed()) add(token, id);
    for (const Token& token : files.special()) {
        const auto piece = vocabulary.find(token.text);
        const bool is_piece = piece != vocabulary.end();
        if (!tokens.ids.contains(token.text))
            add(token, is_piece ? static_cast<std::uint64_t>(piece->second) : next);
        const std::int32_t id = tokens.ids.at(token.text);
        if (is_piece && id != piece->second)
            refuse(token.file, "the special token {} has id {}, expected {} as in vocab.json",
                   token.text, id, piece->second);
        tokens.special.insert(id);
    }
    return tokens;
}

/// Refuses a symbol whose id is not the one that config.json has.
void require_id(const Token& token, const Tokens& tokens, const char* name, std::int32_t expected) {
    if (const std::int32_t id = tokens.ids.at(token.text); id != expected)
        refuse(token.file,
               "{} is {}, whose id is {}, but {}_id in config.json is {}; make them agree", name,
               token.text, id, name, expected);
}

}  // namespace
// [words]
MarianWords::MarianWords(const std::filesystem::path& folder, const MarianConfig& config)
    : source_(load_subwords(folder / "source.spm")),
      target_(load_subwords(folder / "target.spm")),
      ids_(read_ids(folder / "vocab.json", config.model.src_words)),
      // SentencePiece shows "<unk>", and so an id without a piece, as "⁇"
      pieces_(static_cast<std::size_t>(config.model.tgt_words), "<unk>"),
      pad_(config.model.pad) {
    const TokenFiles files(folder);
    const std::filesystem::path vocabulary = folder / "vocab.json",
                                own = folder / "target_vocab.json";
    const bool separate = files.flag("separate_vocabs");
    if (separate != std::filesystem::exists(own))
        refuse(
            own,
            "the file is {}, but separate_vocabs in tokenizer_config.json is {}; make them agree",
            separate ? "missing" : "there", separate);
    for (const auto& [piece, id] : read_ids(separate ? own : vocabulary, config.model.tgt_words))
        pieces_[static_cast<std::size_t>(id)] = piece;

    const std::string unknown = files.named("unk_token").text;
    if (!ids_.contains(unknown)) refuse(vocabulary, "no piece {}", unknown);
    unknown_ = ids_.at(unknown);
    const Tokens tokens = read_tokens(files, ids_, config.model.src_words);
    require_id(files.named("eos_token"), tokens, "eos_token", config.search.end);
    require_id(files.named("pad_token"), tokens, "pad_token", config.model.pad);
    for (const auto& [text, id] : tokens.ids) {
        ids_[text] = id;
        if (id < config.model.tgt_words)
            pieces_[static_cast<std::size_t>(id)] = tokens.special.contains(id) ? "" : text;
        tokens_.push_back(text);
    }
    std::ranges::stable_sort(tokens_, std::greater(), &std::string::size);
    if (files.flag("split_special_tokens")) tokens_.clear();
    clean_up_ = files.flag("clean_up_tokenization_spaces");
}
// [encode]
/// Adds the ids of text without tokens.
void MarianWords::add_ids(std::string_view text, std::vector<std::int32_t>& ids) const {
    const std::size_t closed = text.starts_with(">>") ? text.find("<<") : text.npos;
    const std::size_t code = closed == text.npos ? 0 : closed + 2;  // bytes of a language code
    std::vector<std::string> pieces = source_.pieces(std::string(text.substr(code)));
    if (code > 0) pieces.insert(pieces.begin(), std::string(text.substr(0, code)));
    for (const std::string& piece : pieces) {
        const auto found = ids_.find(piece);
        ids.push_back(found == ids_.end() ? unknown_ : found->second);
    }
}

std::vector<std::int32_t> MarianWords::encode(const std::string& text) const {
    std::vector<std::int32_t> ids;
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto token = std::ranges::find_if(tokens_, [&](const std::string& t) {
            return std::string_view(text).substr(at).starts_with(t);
        });
        if (token == tokens_.end()) {
            ++at;
            continue;
        }
        add_ids(std::string_view(text).substr(done, at - done), ids);
        ids.push_back(ids_.at(*token));
        done = at += token->size();
    }
    add_ids(std::string_view(text).substr(done), ids);
    require(std::ranges::find(ids, pad_) == ids.end(),
            "it contains the pad, which stands for no word");
    return ids;
}
// [decode]
namespace {

/// What the library calls to clean up tokenization.
std::string without_spaces_before_marks(std::string text) {
    for (const auto& [part, other] : {std::pair{" .", "."},
                                      {" ?", "?"},
                                      {" !", "!"},
                                      {" ,", ","},
                                      {" ' ", "'"},
                                      {" n't", "n't"},
                                      {" 'm", "'m"},
                                      {" 's", "'s"},
                                      {" 've", "'ve"},
                                      {" 're", "'re"}})
        text = replaced(std::move(text), part, other);
    return text;
}

}  // namespace

std::string MarianWords::decode(std::span<const std::int32_t> ids) const {
    std::vector<std::string> pieces;
    for (const std::int32_t id : ids) {
        require(id >= 0 && id < std::ssize(pieces_),
                "marian: id {} is outside the vocabulary of {} words", id, pieces_.size());
        const std::string& piece = pieces_[static_cast<std::size_t>(id)];
        if (!piece.empty()) pieces.push_back(piece);
    }
    // "▁" is left in pieces that the target's model does not know
    std::string text = replaced(target_.join(pieces), "▁", " ");
    return one_line(clean_up_ ? without_spaces_before_marks(std::move(text)) : text);
}

}  // namespace abh
