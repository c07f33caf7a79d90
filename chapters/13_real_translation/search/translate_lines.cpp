#include "chapters/13_real_translation/search/translate_lines.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "chapters/13_real_translation/data/token_batches.hpp"
#include "lib/io/unicode.hpp"

namespace abh {
// [sentences]
std::vector<std::vector<Hypothesis>> translate_sentences(
    const LineTranslator& translator, std::span<const std::vector<std::int32_t>> sources,
    Index batch, const BeamOptions& options) {
    require(batch >= 1, "translate: batches of {} sentences, expected at least 1", batch);
    std::vector<std::size_t> order(sources.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sources[i].size(); });
    std::vector<std::vector<Hypothesis>> results(sources.size());
    const Symbols symbols{.pad = translator.model.options().pad, .end = translator.source_end};
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
// [reader]
/// Appends input to what has not been taken yet, as much as is available. Refuses an input of
/// another kind at once, because each of its lines would be nonsense.
void LineReader::fill() {
    const bool first = !std::exchange(begun_, true);
    buffer_.erase(0, position_);
    position_ = 0;
    constexpr std::size_t piece = 1 << 16;
    const std::size_t before = buffer_.size();
    buffer_.resize(before + piece);
    ssize_t count = 0;
    do {
        count = ::read(file_, &buffer_[before], piece);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        throw std::runtime_error(fmt::format("cannot read the input: {}", std::strerror(errno)));
    buffer_.resize(before + static_cast<std::size_t>(count));
    ended_ = count == 0;
    if (!first) return;
    if (const std::string kind = foreign_kind(buffer_); !kind.empty())
        throw std::runtime_error(fmt::format("the input is {}", kind));
    if (buffer_.starts_with("\xEF\xBB\xBF")) position_ = 3;  // a byte order mark
}

bool LineReader::next(std::string& line) {
    line.clear();
    for (bool any = false;; fill()) {
        const std::size_t end = buffer_.find('\n', position_);
        const std::size_t stop = std::min(end, buffer_.size());
        any = any || stop > position_ || end != buffer_.npos;
        line.append(buffer_, position_, std::min(stop - position_, longest_ + 1 - line.size()));
        position_ = stop + (end != buffer_.npos);
        if (end == buffer_.npos && !ended_) continue;
        if (line.ends_with('\r')) line.pop_back();
        return any;
    }
}

bool LineReader::ready() {
    pollfd wait{file_, POLLIN, 0};
    while (buffer_.find('\n', position_) == std::string::npos) {
        if (ended_) return true;  // a last line, or none
        if (buffer_.size() - position_ > longest_ || ::poll(&wait, 1, 0) <= 0) return false;
        fill();
    }
    return true;
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
std::vector<std::int32_t> ids_of(const LineTranslator& translator, const std::string& text,
                                 std::size_t longest) {
    require(text.size() <= longest, "longer than {} bytes", longest);
    const std::size_t bad = find_bad_utf8(text);
    require(bad == text.npos, "byte {} is not UTF-8", bad + 1);
    std::vector<std::int32_t> ids = translator.encode(text);
    require(!ids.empty(), "no words");
    require(std::ssize(ids) <= translator.max_source(), "{} pieces, but the model takes at most {}",
            ids.size(), translator.max_source());
    return ids;
}

/// Reads a line, and the lines after it that are available already.
Window read_window(const LineTranslator& translator, LineReader& in, std::FILE* messages,
                   Index before, const LineOptions& o) {
    Window window;
    std::size_t ids = 0;  // of all lines
    std::string text;
    while (std::ssize(window) < o.window && ids < most_ids && (window.empty() || in.ready()) &&
           in.next(text)) {
        window.emplace_back();
        try {
            window.back() = ids_of(translator, text, in.longest());
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
Index translate_lines(const LineTranslator& translator, LineReader& in, std::FILE* out,
                      std::FILE* messages, const LineOptions& options) {
    Index lines = 0;
    for (;;) {
        const Window window = read_window(translator, in, messages, lines, options);
        if (window.empty()) return lines;
        std::vector<std::vector<std::int32_t>> sentences;
        std::ranges::copy_if(window, std::back_inserter(sentences),
                             [](const auto& ids) { return !ids.empty(); });
        const auto found = translate_sentences(translator, sentences, options.batch, options.beam);
        auto next = found.begin();
        for (const auto& ids : window)
            write(out, translator, ++lines, ids.empty() ? std::vector<Hypothesis>() : *next++,
                  options.n_best_list, messages);
        if (std::fflush(out) != 0)
            throw std::runtime_error(
                fmt::format("cannot write the output: {}", std::strerror(errno)));
    }
}

}  // namespace abh
