#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "chapters/15_language_model/published_commands.hpp"
#include "lib/io/files.hpp"
#include "lib/io/text.hpp"

namespace abh {
namespace {

// [answers]
const std::array questions{
    "Translate into English: 我有一个好朋友。", "What is the capital of Portugal?",
    "Who was the first human on the moon?", "What is 7 times 8?", "Write a haiku about a river."};

/// A text in lines of at most 80 letters, broken at spaces.
std::string in_lines(std::string text) {
    std::size_t begin = 0, space = text.npos;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n') begin = i + 1, space = text.npos;
        if (text[i] == ' ') space = i;
        if (i - begin < 80 || space == text.npos) continue;
        text[space] = '\n';
        begin = space + 1;
        space = text.npos;
    }
    return text;
}

std::vector<std::int32_t> asked(const Published& p, const std::string& question) {
    std::vector<std::int32_t> pieces = message_pieces(p, "system", usual_system);
    for (const auto& more : {message_pieces(p, "user", question), answer_begins(p)})
        pieces.insert(pieces.end(), more.begin(), more.end());
    return pieces;
}

void show_answers(const Published& p, Results& results) {
    Pace pace;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        const std::string answer = said(p, asked(p, questions[i]), 60, pace);
        fmt::print("> {}\n{}\n\n", questions[i], in_lines(answer));
        results.set(fmt::format("question{}", i + 1), questions[i]);
        results.set_varying(fmt::format("answer{}", i + 1), answer);
    }
    fmt::print("== A question, as the model reads it ==\n");
    for (const std::int32_t id : asked(p, questions[1])) fmt::print("{}", p.tokenizer.piece(id));
    fmt::print("\n== What it continues ==\n");
    for (const auto& [name, prompt] : {std::pair("portugal", "The capital of Portugal is"),
                                       {"moon", "In 1969, the first human"}}) {
        const std::string more = said(p, p.tokenizer.encode(prompt), 24, pace);
        fmt::print("> {}\n{}\n\n", prompt, prompt + more);
        results.set_varying(name, prompt + more);
    }
}
// [pieces]
/// A text on one line, with its spaces as ␣ and its line ends as `\n`; a part of a character as its
/// bytes, such as "E6 88".
std::string visible(std::string_view text, std::string_view space = "␣") {
    std::string line;
    if (!is_utf8(text)) {
        for (const char c : text) line += fmt::format("{:02X} ", static_cast<unsigned char>(c));
        line.pop_back();
        return line;
    }
    for (const char c : text) c == ' ' ? line += space : c == '\n' ? line += "\\n" : line += c;
    return printable(line);
}

std::string shown(const ByteTokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
    std::string line;
    for (const std::int32_t id : ids) line += fmt::format("[{}] ", visible(tokenizer.piece(id)));
    return line;
}

/// The longest piece at each place of a text: not how a model has learned to read it.
std::vector<std::int32_t> longest_pieces(const ByteTokenizer& tokenizer, std::string_view text) {
    std::vector<std::int32_t> ids;
    for (std::string_view rest : cut_text(text))
        while (!rest.empty()) {
            const auto first = tokenizer.encode_part(rest.substr(0, 1));
            require(!first.empty(), "a byte of \"{}\" has no piece", printable(rest, 60));
            std::int32_t longest = first[0];
            for (std::int32_t id = 0; id < tokenizer.size(); ++id)
                if (rest.starts_with(tokenizer.piece(id)) &&
                    tokenizer.piece(id).size() > tokenizer.piece(longest).size())
                    longest = id;
            ids.push_back(longest);
            rest.remove_prefix(tokenizer.piece(longest).size());
        }
    return ids;
}

/// The id of a piece that is whole after all merges.
std::int32_t id_of(const ByteTokenizer& tokenizer, std::string_view text) {
    const std::vector<std::int32_t> ids = tokenizer.encode_part(text);
    require(ids.size() == 1, "\"{}\" is {} pieces, expected one", printable(text), ids.size());
    return ids[0];
}

/// The places of the merges of all neighbors, at the gaps between a word's bytes: empty inside of
/// a piece.
void show_gaps(const ByteTokenizer& tokenizer, std::string_view word,
               const std::vector<std::int32_t>& ids) {
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        const auto bytes = tokenizer.piece(ids[i]).size();
        const std::int32_t rank = tokenizer.rank(ids[i], ids[i + 1]);
        fmt::print("{:>{}}", rank < 0 ? "–" : fmt::format("{}", rank + 1), 7 * bytes);
        at += bytes;
    }
    fmt::print("{:{}}  ", "", 7 * (word.size() - 1 - at));
    for (const std::int32_t id : ids) fmt::print(" {}", visible(tokenizer.piece(id)));
    fmt::print("\n");
}

/// All neighbors of a word before each merge, and what remains if the leftmost pair that has a
/// merge is always joined.
void show_neighbors(const ByteTokenizer& tokenizer, const std::string& word) {
    fmt::print("\n== Neighbors in {} ==\n", visible(word));
    for (std::size_t i = 0; i + 1 < word.size(); ++i)
        fmt::print("{:>7}", visible(word.substr(i, 1)) + " " + visible(word.substr(i + 1, 1)));
    fmt::print("   pieces\n");
    for (const bool leftmost : {false, true}) {
        std::vector<std::int32_t> ids;
        for (const char c : word) ids.push_back(id_of(tokenizer, std::string(1, c)));
        if (leftmost) fmt::print("\n== The leftmost pair in {} ==\n", visible(word));
        for (;;) {
            show_gaps(tokenizer, word, ids);
            std::size_t best = ids.size();
            std::int32_t least = -1;
            for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
                const std::int32_t rank = tokenizer.rank(ids[i], ids[i + 1]);
                if (rank < 0 || (best < ids.size() && (leftmost || rank >= least))) continue;
                best = i;
                least = rank;
            }
            if (best == ids.size()) break;
            ids[best] =
                id_of(tokenizer, tokenizer.piece(ids[best]) + tokenizer.piece(ids[best + 1]));
            ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
        }
    }
}

/// How a word is merged.
void show_merges(const ByteTokenizer& tokenizer, const std::string& word, Results& results) {
    fmt::print("\n== Merges of {} ==\n", visible(word));
    const std::string name = "_" + word.substr(1);
    std::vector<MergeStep> steps;
    const std::vector<std::int32_t> ids = tokenizer.encode_part(word, &steps);
    Table table(results, {{"merge", "<7"},
                          {"left", "<8", "left{}" + name},
                          {"right", "<8", "right{}" + name},
                          {"its place in the list", "8", "place{}" + name}});
    for (Index number = 0; const MergeStep& step : steps) {
        ++number;
        table.row(number, number, visible(word.substr(step.begin, step.middle - step.begin)),
                  visible(word.substr(step.middle, step.end - step.middle)), step.merge + 1);
        for (const auto& [what, at] :
             {std::pair("begin", step.begin), {"middle", step.middle}, {"end", step.end}})
            results.set(fmt::format("{}{}{}", what, number, name), at);
    }
    results.set("merges" + name, std::ssize(steps));
    fmt::print("by merges: {}\nthe longest piece each time: {}\n", shown(tokenizer, ids),
               shown(tokenizer, longest_pieces(tokenizer, word)));
}

void show_pieces(const ByteTokenizer& tokenizer, Results& results) {
    for (int number = 0; const std::string text :
                         {"I have a good friend.", "我有一个好朋友。", "In 1969, Zürich."}) {
        const std::vector<std::int32_t> ids = tokenizer.encode(text);
        fmt::print("{}\n{} pieces: {}\n\n", text, ids.size(), shown(tokenizer, ids));
        results.set(fmt::format("tokens{}", ++number), ids.size());
    }
    Index chinese = 0;
    for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
        const std::string& piece = tokenizer.piece(id);
        bool has = false;
        for (std::size_t at = 0; at < piece.size(); ++at) {
            const char32_t code = first_character(piece.substr(at)).code;
            has = has || (code >= 0x4E00 && code <= 0x9FFF);
        }
        chinese += has;
    }
    fmt::print("{} of {} pieces hold a Chinese character\n", chinese, tokenizer.size());
    results.set("chinese", chinese);
    const std::string end = "<|im_end|>";
    results.set("end_letters", tokenizer.encode(end, false).size());
    fmt::print("{} as a user's letters: {}\n", end, shown(tokenizer, tokenizer.encode(end, false)));
    for (const char* word : {" friend", " mended", " mend"}) show_merges(tokenizer, word, results);
    show_neighbors(tokenizer, " friend");
}
// [other pairing]
/// The same weights, read as if the rotary pairs of a head lay elsewhere in its rows.
Published with_other_pairing(Published p) {
    GroupedAttentionOptions o = p.model.options().block.attention;
    o.rotary->pairing = o.rotary->pairing == Pairing::halves ? Pairing::neighbors : Pairing::halves;
    Random random(1);
    const GroupedAttention other(o, random);
    for (Block& block : p.model.blocks) {
        GroupedAttention attention = other;
        attention.w_q = block.attention.w_q;
        attention.w_k = block.attention.w_k;
        attention.w_v = block.attention.w_v;
        attention.w_o = block.attention.w_o;
        block.attention = attention;
    }
    return p;
}
// [story]
/// The mean surprise of pieces after the first, for somebody who knows how often each occurs among
/// them, and nothing else.
double surprise_by_frequency(std::span<const std::int32_t> pieces) {
    std::map<std::int32_t, double> counts;
    for (const std::int32_t id : pieces.subspan(1)) ++counts[id];
    const auto n = static_cast<double>(pieces.size() - 1);
    double sum = 0;
    for (const auto& [id, count] : counts) sum -= count / n * std::log(count / n);
    return sum;
}

void show_story(const Published& p, Results& results) {
    const std::string story = read_file(ABH_STORY);
    Table table(results, {{"", "<28"},
                          {"pieces", "8", "{}_tokens"},
                          varying("perplexity", "12.3f", "{}_perplexity"),
                          varying("surprise of the whole text", "10.1f", "{}_surprise")});
    const auto row = [&](const char* key, const char* name, Index n, double mean) {
        table.row(key, name, n, std::exp(mean), mean * static_cast<double>(n - 1));
    };
    const auto surprise = [](const Llama& model, const std::vector<std::int32_t>& pieces) {
        return mean_surprise(model, pieces, model.options().context);
    };
    const std::vector<std::int32_t> pieces = p.tokenizer.encode(story);
    const std::vector<std::int32_t> longest = longest_pieces(p.tokenizer, story);
    row("story", "as the file means it", std::ssize(pieces), surprise(p.model, pieces));
    row("longest", "the longest piece each time", std::ssize(longest), surprise(p.model, longest));
    const auto parts = cut_text(story);
    const Index differ = std::ranges::count_if(parts, [&](std::string_view part) {
        return longest_pieces(p.tokenizer, part) != p.tokenizer.encode_part(part);
    });
    results.set("parts", std::ssize(parts));
    results.set("longest_differ", differ);
    const Published other = with_other_pairing(p);
    row("pairing", "the other rotary pairs", std::ssize(pieces), surprise(other.model, pieces));
    row("frequency", "by frequency alone", std::ssize(pieces), surprise_by_frequency(pieces));
    const std::string prompt = "The capital of Portugal is";
    fmt::print("\n== The other rotary pairs ==\n");
    for (const auto& [pairs, model] : {std::pair("neighbors", &p), {"halves", &other}}) {
        Pace pace;
        const std::string more = said(*model, p.tokenizer.encode(prompt), 24, pace);
        fmt::print("read in {}:\n{}\n", pairs, in_lines(visible(prompt + more, " ")));
    }
}

}  // namespace
// [published]
void show_published(const Published& p, Results& results) {
    const LlamaOptions& o = p.model.options();
    const GroupedAttentionOptions& a = o.block.attention;
    fmt::print("== Its form ==\n");
    Table table(results, {{"", "<24"}, {"", "12.6g", "{}"}});
    table.row("words", "pieces", o.words);
    table.row("layers", "layers", o.n_layers);
    table.row("d_model", "width", a.d_model);
    table.row("heads", "query heads", a.n_heads);
    table.row("kv_heads", "key heads", a.n_kv_heads);
    table.row("head", "width of a head", a.d_model / a.n_heads);
    table.row("d_ff", "hidden units", o.block.d_ff);
    table.row("context", "longest text", o.context);
    table.row("base", "rotary base", static_cast<double>(a.rotary->base));
    table.row("eps", "epsilon of the norms", static_cast<double>(o.block.eps));
    table.row("end", "last piece of a message", p.end);
    table.row("megabytes", "megabytes of weights", static_cast<double>(p.weight_bytes) / 1e6);
    fmt::print("\n== What it says ==\n");
    show_answers(p, results);
    fmt::print("== Pieces ==\n");
    show_pieces(p.tokenizer, results);
    fmt::print("\n== A text that it has never seen ==\n");
    show_story(p, results);
}

}  // namespace abh
