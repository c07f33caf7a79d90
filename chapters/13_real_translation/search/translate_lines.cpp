#include "chapters/13_real_translation/search/translate_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "chapters/13_real_translation/data/token_batches.hpp"
#include "lib/io/unicode.hpp"

namespace abh {
// [sentences]
std::vector<std::vector<Hypothesis>> translate_sentences(
    const LineTranslator& translator, std::span<const std::vector<std::int32_t>> sources,
    Index batch, const BeamOptions& options) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < sources.size(); ++i)
        if (!sources[i].empty()) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sources[i].size(); });
    std::vector<std::vector<Hypothesis>> results(sources.size());
    const Symbols symbols{.pad = translator.model.options().pad, .end = translator.search.end};
    const auto size = static_cast<std::size_t>(batch);
    for (std::size_t first = 0; first < order.size(); first += size) {
        const std::span which =
            std::span(order).subspan(first, std::min(size, order.size() - first));
        std::vector<const std::vector<std::int32_t>*> some;
        for (const std::size_t i : which) some.push_back(&sources[i]);
        const auto found = beam_search(translator.model, source_batch(some, symbols),
                                       translator.with_symbols(options));
        for (std::size_t i = 0; i < which.size(); ++i) results[which[i]] = found[i];
    }
    return results;
}
// [window]
namespace {

/// The ids of lines that are translated together; a line that cannot be translated has none.
using Window = std::vector<std::vector<std::int32_t>>;

/// Once a window has so many ids, no line is added to it, however long its lines are.
constexpr std::size_t most_ids = 1 << 18;

template <class... Args>
void say(std::FILE* messages, Index line, fmt::format_string<Args...> message, Args&&... args) {
    fmt::print(messages, "line {}: {}\n", line,
               printable(fmt::format(message, std::forward<Args>(args)...)));
}

/// A line's ids. @throws std::invalid_argument saying why it cannot be translated
std::vector<std::int32_t> ids_of(const LineTranslator& translator, const std::string& text) {
    constexpr std::size_t longest = TextLimits().line_bytes;
    require(text.size() <= longest, "longer than {} bytes", longest);
    const std::size_t bad = find_bad_utf8(text);
    require(bad == text.npos, "byte {} is not UTF-8", bad + 1);
    std::vector<std::int32_t> ids = translator.encode(text);
    require(!ids.empty(), "no words");
    require(std::ssize(ids) <= translator.max_source(), "{} pieces, but the model takes at most {}",
            ids.size(), translator.max_source());
    return ids;
}

/// Reads the next line, without its end; false if there is none. An input of another kind is
/// refused at once, because each of its lines would be nonsense.
bool next_line(std::istream& in, std::string& line, bool first) {
    std::getline(in, line);
    if (in.bad()) throw std::runtime_error("cannot read the input");
    if (!in) return false;
    if (first) {
        if (const std::string kind = foreign_kind(line); !kind.empty())
            throw std::runtime_error(fmt::format("the input is {}", kind));
        if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte order mark
    }
    if (line.ends_with('\r')) line.pop_back();
    return true;
}

/// Reads a line, and the lines after it that are available already.
Window read_window(const LineTranslator& translator, std::istream& in, std::FILE* messages,
                   Index before, const LineOptions& o) {
    Window window;
    std::size_t ids = 0;  // of all lines
    std::string text;
    while (std::ssize(window) < o.window && ids < most_ids &&
           (window.empty() || in.rdbuf()->in_avail() > 0) &&
           next_line(in, text, before == 0 && window.empty())) {
        window.emplace_back();
        try {
            window.back() = ids_of(translator, text);
            ids += window.back().size();
        } catch (const std::invalid_argument& error) {
            say(messages, before + std::ssize(window), "{}; its translation is left empty",
                error.what());
        }
    }
    return window;
}
// [output]
/// The text of a hypothesis. If its ids are not text, the result is empty, and a message says so.
std::string text_of(const LineTranslator& translator, const Hypothesis& hypothesis, Index line,
                    std::FILE* messages) {
    try {
        return one_line(translator.decode(hypothesis.ids));
    } catch (const std::invalid_argument& error) {
        say(messages, line, "its translation is left empty: {}", error.what());
        return "";
    }
}

/// Writes the hypotheses that were found for a line, or an empty translation if there are none.
void write(std::FILE* out, const LineTranslator& translator, Index line,
           std::span<const Hypothesis> found, bool n_best_list, std::FILE* messages) {
    const auto print = [&](const std::string& text, double score) {
        if (n_best_list)
            fmt::print(out, "{} ||| {} ||| {:.6f}\n", line - 1, text, score);
        else
            fmt::print(out, "{}\n", text);
    };
    if (found.empty()) print("", 0);
    for (const Hypothesis& h : found) print(text_of(translator, h, line, messages), h.score);
}

}  // namespace
// [lines]
Index translate_lines(const LineTranslator& translator, std::istream& in, std::FILE* out,
                      std::FILE* messages, const LineOptions& options) {
    Index lines = 0;
    for (;;) {
        const Window window = read_window(translator, in, messages, lines, options);
        if (window.empty()) return lines;
        for (const auto& found :
             translate_sentences(translator, window, options.batch, options.beam))
            write(out, translator, ++lines, found, options.n_best_list, messages);
        if (std::fflush(out) != 0)
            throw std::runtime_error(
                fmt::format("cannot write the output: {}", std::strerror(errno)));
    }
}

}  // namespace abh
