#include "chapters/13_real_translation/search/translate_lines.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "chapters/13_real_translation/data/text.hpp"
#include "lib/io/file_kind.hpp"

namespace abh {
// [sentences]
namespace {

/// Sources with their end symbols, shorter ones padded, `[B, Ls]`.
Ids padded(const LineTranslator& translator, std::span<const std::vector<std::int32_t>> sources,
           std::span<const std::size_t> which) {
    std::size_t longest = 0;
    for (const std::size_t i : which) longest = std::max(longest, sources[i].size());
    const auto batch = static_cast<Index>(which.size()), length = static_cast<Index>(longest) + 1;
    Ids ids = Ids::full({batch, length}, translator.model.options().pad);
    for (Index b = 0; b < batch; ++b) {
        const std::vector<std::int32_t>& words = sources[which[static_cast<std::size_t>(b)]];
        std::ranges::copy(words, &ids(b, 0));
        ids(b, words.size()) = translator.source_end;
    }
    return ids;
}

}  // namespace

std::vector<std::vector<Hypothesis>> translate_sentences(
    const LineTranslator& translator, std::span<const std::vector<std::int32_t>> sources,
    Index batch, const BeamOptions& options) {
    require(batch >= 1, "translate: batches of {} sentences", batch);
    std::vector<std::size_t> order(sources.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sources[i].size(); });
    std::vector<std::vector<Hypothesis>> results(sources.size());
    const auto size = static_cast<std::size_t>(batch);
    for (std::size_t first = 0; first < order.size(); first += size) {
        const std::span which =
            std::span(order).subspan(first, std::min(size, order.size() - first));
        const auto found = beam_search(translator.model, padded(translator, sources, which),
                                       translator.with_symbols(options));
        for (std::size_t i = 0; i < which.size(); ++i) results[which[i]] = found[i];
    }
    return results;
}
// [reader]
/// Reads what there is, behind what has not been taken yet. False at the end.
bool LineReader::fill() {
    if (ended_) return false;
    buffer_.erase(0, position_);
    position_ = 0;
    constexpr std::size_t piece = 1 << 16;
    const std::size_t before = buffer_.size();
    buffer_.resize(before + piece);
    ssize_t count = 0;
    do {
        count = ::read(file_, &buffer_[before], piece);
    } while (count < 0 && errno == EINTR);
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0)
        throw std::runtime_error(fmt::format("cannot read the input: {}", std::strerror(errno)));
    ended_ = count == 0;
    if (!std::exchange(begun_, true)) look_at_beginning();
    return !ended_;
}

/// An input of another kind is refused at once, since each of its lines would be nonsense.
void LineReader::look_at_beginning() {
    if (const std::string kind = foreign_kind(buffer_); !kind.empty())
        throw std::runtime_error(fmt::format("the input is {}", kind));
    if (buffer_.starts_with("\xEF\xBB\xBF")) position_ = 3;  // a byte order mark
}

bool LineReader::next(std::string& line) {
    line.clear();
    cut_ = false;
    bool any = false;
    for (;;) {
        const std::size_t end = buffer_.find('\n', position_);
        const std::size_t stop = std::min(end, buffer_.size());
        any = any || stop > position_ || end != std::string::npos;
        const std::size_t taken = std::min(stop - position_, longest_ - line.size());
        line.append(buffer_, position_, taken);
        cut_ = cut_ || taken < stop - position_;
        position_ = stop + (end != std::string::npos);
        if (end != std::string::npos || !fill()) return any;
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

/// A line that was read, and which sentences of its window are its parts.
struct Line {
    Index number;
    std::size_t first = 0, end = 0;
};

/// Lines that are translated together.
struct Window {
    std::vector<Line> lines;
    std::vector<std::vector<std::int32_t>> sentences;
    std::size_t ids = 0;  ///< of all sentences
};

/// No line is added to a window of more ids, however long lines are.
constexpr std::size_t most_ids = 1 << 18;

template <class... Args>
void say(std::FILE* messages, Index line, fmt::format_string<Args...> message, Args&&... args) {
    fmt::print(messages, "line {}: {}\n", line, fmt::format(message, std::forward<Args>(args)...));
}

/// Where a text that is cut off breaks a character, that one is left out, too.
void drop_broken_end(std::string& text) {
    const std::size_t bad = find_bad_utf8(text);
    if (bad != std::string::npos && text.size() - bad < 4) text.resize(bad);
}

/// A line's ids; none where it has no words or cannot be read.
std::vector<std::int32_t> ids_of(const LineTranslator& translator, std::string text, bool cut,
                                 Index number, std::FILE* messages) {
    if (cut) {
        drop_broken_end(text);
        say(messages, number, "only its first {} bytes are translated", text.size());
    }
    if (const std::size_t bad = find_bad_utf8(text); bad != std::string::npos) {
        say(messages, number, "byte {} is not UTF-8; its translation is left empty", bad + 1);
        return {};
    }
    try {
        std::vector<std::int32_t> ids = translator.encode(tidy(text));
        if (ids.empty()) say(messages, number, "no words; its translation is left empty");
        return ids;
    } catch (const std::invalid_argument& error) {
        say(messages, number, "{}; its translation is left empty", printable(error.what()));
        return {};
    }
}

/// Adds a line's ids as one sentence, or in parts of about equal length where they are too many.
void add_parts(Window& window, const std::vector<std::int32_t>& ids, Index most) {
    const auto n = static_cast<Index>(ids.size()), parts = (n + most - 1) / most;
    window.ids += ids.size();
    for (Index i = 0; i < parts; ++i)
        window.sentences.emplace_back(ids.begin() + i * n / parts,
                                      ids.begin() + (i + 1) * n / parts);
}

/// Reads a line, and those behind it that are there already.
Window read_window(const LineTranslator& translator, LineReader& in, std::FILE* messages,
                   Index before, const LineOptions& o) {
    const Index fits = translator.max_source();
    const Index most = o.max_source == 0 ? fits : std::min(o.max_source, fits);
    Window window;
    std::string text;
    while (static_cast<Index>(window.lines.size()) < o.window && window.ids < most_ids &&
           (window.lines.empty() || in.ready()) && in.next(text)) {
        Line line{before + static_cast<Index>(window.lines.size()) + 1, window.sentences.size()};
        const auto ids = ids_of(translator, text, in.cut(), line.number, messages);
        add_parts(window, ids, most);
        line.end = window.sentences.size();
        if (line.end - line.first > 1)
            say(messages, line.number, "{} pieces, of which {} are taken at once: {} parts",
                ids.size(), most, line.end - line.first);
        window.lines.push_back(line);
    }
    return window;
}
// [output]
/// The n-th best of a line: those of its parts, one after another.
struct Text {
    std::string text;
    double score = 0;
};

std::vector<Text> texts_of(const LineTranslator& translator, const Line& line,
                           std::span<const std::vector<Hypothesis>> found, std::FILE* messages) {
    if (line.first == line.end) return {{}};
    std::vector<Text> texts(found[line.first].size());
    for (const std::vector<Hypothesis>& part : found.subspan(line.first, line.end - line.first)) {
        texts.resize(std::min(texts.size(), part.size()));
        for (std::size_t i = 0; i < texts.size(); ++i) {
            if (&part != &found[line.first]) texts[i].text += ' ';
            texts[i].score += part[i].score;
            try {
                texts[i].text += tidy(translator.decode(part[i].ids));
            } catch (const std::invalid_argument& error) {
                say(messages, line.number, "its translation: {}; left out",
                    printable(error.what()));
            }
        }
    }
    return texts;
}

void write(std::FILE* out, const Line& line, const std::vector<Text>& texts, bool n_best_list) {
    if (!n_best_list) {
        fmt::print(out, "{}\n", texts.front().text);
        return;
    }
    for (const Text& t : texts)
        fmt::print(out, "{} ||| {} ||| {:.6f}\n", line.number - 1, t.text, t.score);
}

}  // namespace
// [lines]
Index translate_lines(const LineTranslator& translator, LineReader& in, std::FILE* out,
                      std::FILE* messages, const LineOptions& options) {
    require(options.window >= 1 && options.max_source >= 0,
            "translate: windows of {} lines, sentences of {} ids", options.window,
            options.max_source);
    require(translator.max_source() >= 1,
            "translate: the model has room for {} positions, expected a word and the end at least",
            translator.model.src_positions.max_len());
    Index lines = 0;
    for (;;) {
        const Window window = read_window(translator, in, messages, lines, options);
        if (window.lines.empty()) return lines;
        const auto found =
            translate_sentences(translator, window.sentences, options.batch, options.beam);
        for (const Line& line : window.lines)
            write(out, line, texts_of(translator, line, found, messages), options.n_best_list);
        if (std::fflush(out) != 0)
            throw std::runtime_error(
                fmt::format("cannot write the output: {}", std::strerror(errno)));
        lines += static_cast<Index>(window.lines.size());
    }
}

}  // namespace abh
