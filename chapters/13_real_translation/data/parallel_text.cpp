#include "chapters/13_real_translation/data/parallel_text.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <system_error>

#include "chapters/13_real_translation/data/text.hpp"
#include "lib/io/file_kind.hpp"
#include "lib/random.hpp"

namespace abh {
// [pairs]
std::vector<std::string> sources(std::span<const TextPair> pairs) {
    std::vector<std::string> sentences;
    for (const TextPair& pair : pairs) sentences.push_back(pair.source);
    return sentences;
}

std::vector<std::string> targets(std::span<const TextPair> pairs) {
    std::vector<std::string> sentences;
    for (const TextPair& pair : pairs) sentences.push_back(pair.target);
    return sentences;
}

std::vector<std::string> both_sides(std::span<const TextPair> pairs) {
    std::vector<std::string> sentences = sources(pairs);
    for (const TextPair& pair : pairs) sentences.push_back(pair.target);
    return sentences;
}
// [file]
namespace {

using Path = std::filesystem::path;

[[noreturn]] void fail(const Path& path, const std::string& reason) {
    throw std::runtime_error(fmt::format("{}: {}", printable(path.string()), reason));
}

[[noreturn]] void fail(const Path& path, Index line, const std::string& reason) {
    throw std::runtime_error(fmt::format("{}:{}: {}", printable(path.string()), line, reason));
}

/// A file as a stream of bytes, unpacked if it is gzip.
class Unpacked {
public:
    explicit Unpacked(const Path& path) : path_(path), file_(::gzopen(path.c_str(), "rb")) {
        if (!file_) fail(path, std::generic_category().message(errno));
        ::gzbuffer(file_, 1 << 16);
    }
    ~Unpacked() { ::gzclose_r(file_); }
    Unpacked(const Unpacked&) = delete;
    Unpacked& operator=(const Unpacked&) = delete;

    /// The next bytes; none at the end.
    std::string_view read() {
        const int n = ::gzread(file_, buffer_.get(), size);
        int error = Z_OK;
        ::gzerror(file_, &error);
        if (error == Z_ERRNO) fail(path_, std::generic_category().message(errno));
        if (error == Z_BUF_ERROR) fail(path_, "the gzip file ends before its end; fetch it again");
        if (n < 0 || error != Z_OK) fail(path_, "the gzip file is damaged; fetch it again");
        return {buffer_.get(), static_cast<std::size_t>(n)};
    }

private:
    static constexpr unsigned size = 1 << 16;
    Path path_;
    gzFile file_;
    std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(size);
};
// [lines]
/// Calls `use` for each line of a stream as it is, with its number.
void split_lines(const Path& path, const TextLimits& limits,
                 const std::function<void(std::string&, Index)>& use) {
    Unpacked file(path);
    std::string line;
    std::size_t bytes = 0;
    Index number = 0;
    for (std::string_view block = file.read(); !block.empty(); block = file.read()) {
        if (const std::string kind = bytes == 0 ? foreign_kind(block) : ""; !kind.empty())
            fail(path, kind);
        bytes += block.size();
        if (bytes > limits.file_bytes)
            fail(path, fmt::format("holds more than {} bytes, unpacked", limits.file_bytes));
        while (!block.empty()) {
            if (number == limits.lines)
                fail(path, fmt::format("has more than {} lines", limits.lines));
            const std::size_t end = block.find('\n');
            line += block.substr(0, end);
            if (line.size() > limits.line_bytes)
                fail(path, number + 1, fmt::format("longer than {} bytes", limits.line_bytes));
            if (end == std::string_view::npos) break;
            use(line, ++number);
            line.clear();
            block.remove_prefix(end + 1);
        }
    }
    if (!line.empty()) use(line, ++number);
}

}  // namespace

void for_each_line(const Path& path, const std::function<void(std::string_view, Index)>& line,
                   const TextLimits& limits) {
    split_lines(path, limits, [&](std::string& text, Index number) {
        std::string_view view = text;
        if (number == 1 && view.starts_with("\xEF\xBB\xBF")) view.remove_prefix(3);
        if (view.ends_with('\r')) view.remove_suffix(1);
        if (const std::size_t bad = find_bad_utf8(view); bad != std::string_view::npos)
            fail(path, number,
                 fmt::format("byte {} is 0x{:02X}, which is not UTF-8; convert the file from the "
                             "encoding that it has, for instance: iconv -f GB18030 -t UTF-8",
                             bad + 1, static_cast<unsigned char>(view[bad])));
        line(view, number);
    });
}
// [cleaning]
std::string CleanCounts::summary() const {
    std::string reasons;
    const auto add = [&](Index n, const char* reason) {
        if (n > 0) reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", n, reason);
    };
    add(empty, "empty");
    add(too_long, "too long");
    add(bad_ratio, "of unlike length");
    add(too_many_marks, "with too many marks on a letter");
    return fmt::format("{} pairs{}", kept, reasons.empty() ? "" : "; left out: " + reasons);
}

namespace {

Index count_words(std::string_view sentence) {
    return sentence.empty() ? 0 : 1 + std::count(sentence.begin(), sentence.end(), ' ');
}

/// Is a line so long that it need not be looked at? A character has at most four bytes; twice as
/// many leave room for spaces and spellings that tidying shortens.
bool far_too_long(std::string_view line, const CleanOptions& options) {
    return line.size() > 8 * static_cast<std::size_t>(options.max_characters);
}

bool too_long(const std::string& sentence, const CleanOptions& options) {
    return count_words(sentence) > options.max_words ||
           static_cast<Index>(code_points(sentence).size()) > options.max_characters;
}

bool of_unlike_length(const TextPair& pair, const CleanOptions& options) {
    const auto [shorter, longer] = std::minmax({pair.source.size(), pair.target.size()});
    return static_cast<double>(longer) > options.max_ratio * static_cast<double>(shorter);
}

/// Adds the pair to `pairs` if it is of use, and counts it.
void add_pair(std::string_view source, std::string_view target, const CleanOptions& options,
              std::vector<TextPair>& pairs, CleanCounts& counts) {
    if (far_too_long(source, options) || far_too_long(target, options)) {
        ++counts.too_long;
        return;
    }
    TextPair pair;
    try {
        pair = {tidy(source), tidy(target)};
    } catch (const std::invalid_argument&) {  // the lines are UTF-8, so it is the marks
        ++counts.too_many_marks;
        return;
    }
    if (pair.source.empty() || pair.target.empty())
        ++counts.empty;
    else if (too_long(pair.source, options) || too_long(pair.target, options))
        ++counts.too_long;
    else if (of_unlike_length(pair, options))
        ++counts.bad_ratio;
    else {
        ++counts.kept;
        pairs.push_back(std::move(pair));
    }
}
// [columns]
/// Column `wanted`, from 1. @throws std::invalid_argument if the line has fewer
std::string_view column(std::string_view line, Index wanted) {
    for (Index i = 1; i < wanted; ++i) {
        const std::size_t tab = line.find('\t');
        require(tab != std::string_view::npos, "{} column{}, but column {} is wanted", i,
                i == 1 ? "" : "s", wanted);
        line.remove_prefix(tab + 1);
    }
    return line.substr(0, line.find('\t'));
}

using UsePair = std::function<void(std::string_view, std::string_view)>;

void for_each_row(const PairFiles& files, const TextLimits& limits, const UsePair& use) {
    for_each_line(
        files.source,
        [&](std::string_view line, Index number) {
            try {
                if (line.empty()) return use("", "");
                use(column(line, files.source_column), column(line, files.target_column));
            } catch (const std::invalid_argument& error) {
                fail(files.source, number, error.what());
            }
        },
        limits);
}

void for_each_two_lines(const PairFiles& files, const TextLimits& limits, const UsePair& use) {
    std::vector<std::string> sources;
    for_each_line(
        files.source, [&](std::string_view line, Index) { sources.emplace_back(line); }, limits);
    Index targets = 0;
    for_each_line(
        files.target,
        [&](std::string_view line, Index number) {
            targets = number;
            const auto i = static_cast<std::size_t>(number - 1);
            if (i < sources.size()) use(sources[i], line);
        },
        limits);
    if (targets != static_cast<Index>(sources.size()))
        fail(files.target,
             fmt::format("{} lines, but {} has {}; each must translate the line of the same number",
                         targets, printable(files.source.string()), sources.size()));
}

}  // namespace
// [read pairs]
PairFiles PairFiles::parse(const std::string& text) {
    static const std::regex columns("(.+):([1-9][0-9]{0,3}):([1-9][0-9]{0,3})"),
        two_files("([^,]+),([^,]+)");
    std::smatch parts;
    if (std::regex_match(text, parts, columns))
        return {parts.str(1), "", std::stoi(parts.str(2)), std::stoi(parts.str(3))};
    if (std::regex_match(text, parts, two_files)) return {parts.str(1), parts.str(2)};
    require(!text.empty() && text.find(',') == text.npos,
            "{}: expected FILE, FILE:SOURCE_COLUMN:TARGET_COLUMN or SOURCE,TARGET",
            printable(text));
    return {text};
}

std::vector<TextPair> read_pairs(const PairFiles& files, const CleanOptions& options,
                                 CleanCounts* counts, const TextLimits& limits) {
    require(files.source_column >= 1 && files.target_column >= 1,
            "read_pairs: columns {} and {}; they count from 1", files.source_column,
            files.target_column);
    std::vector<TextPair> pairs;
    CleanCounts found;
    const auto use = [&](std::string_view source, std::string_view target) {
        add_pair(source, target, options, pairs, found);
    };
    if (files.target.empty())
        for_each_row(files, limits, use);
    else
        for_each_two_lines(files, limits, use);
    if (pairs.empty()) fail(files.source, "no pair that can be used; " + found.summary());
    if (counts) {
        counts->kept += found.kept;
        counts->empty += found.empty;
        counts->too_long += found.too_long;
        counts->bad_ratio += found.bad_ratio;
        counts->too_many_marks += found.too_many_marks;
    }
    return pairs;
}
// [components]
namespace {

/// What a sentence shares with its other spellings; a sentence without a letter is itself.
std::string key_of(const std::string& sentence) {
    std::string key = letters(sentence);
    return key.empty() ? sentence : key;
}

/// Which things hang together: a forest, in which the things of one tree do.
class Components {
public:
    explicit Components(std::size_t n) : parent_(n) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }
    std::size_t root(std::size_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(std::size_t i, std::size_t j) { parent_[root(j)] = root(i); }

private:
    std::vector<std::size_t> parent_;
};

/// Pairs that share a sentence, directly or by way of others.
Components connect(const std::vector<TextPair>& pairs) {
    Components components(pairs.size());
    std::map<std::string, std::size_t> first_source, first_target;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        components.join(first_source.try_emplace(key_of(pairs[i].source), i).first->second, i);
        components.join(first_target.try_emplace(key_of(pairs[i].target), i).first->second, i);
    }
    return components;
}
// [split]
/// A number that looks random and depends on the text and the seed alone: FNV-1a, then Philox.
std::uint64_t draw(const TextPair& pair, std::uint64_t seed) {
    std::uint64_t hash = 0xCBF29CE484222325;
    for (const char c : pair.source + '\t' + pair.target)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto words = philox({low(hash), low(hash >> 32), 0, 0}, {low(seed), low(seed >> 32)});
    return std::uint64_t{words[0]} << 32 | words[1];
}

struct Component {
    std::uint64_t place = ~std::uint64_t{0};  ///< in the random order
    std::vector<std::size_t> pairs;
};

/// The components in random order.
std::vector<Component> draw_components(const std::vector<TextPair>& pairs, std::uint64_t seed) {
    Components connected = connect(pairs);
    std::map<std::size_t, Component> by_root;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        Component& component = by_root[connected.root(i)];
        component.place = std::min(component.place, draw(pairs[i], seed));
        component.pairs.push_back(i);
    }
    std::vector<Component> components;
    for (auto& [root, component] : by_root) components.push_back(std::move(component));
    std::sort(components.begin(), components.end(),
              [](const Component& a, const Component& b) { return a.place < b.place; });
    return components;
}

/// Larger components go to training: one sentence and its many translations are no fair test.
constexpr std::size_t largest_held_out = 10;

}  // namespace

ParallelText split_pairs(const std::vector<TextPair>& pairs, Index n_dev, Index n_test,
                         std::uint64_t seed) {
    enum Part : char { train, dev, test };
    std::vector<Part> part(pairs.size(), train);
    Index in_dev = 0, in_test = 0;
    for (const Component& component : draw_components(pairs, seed)) {
        if (component.pairs.size() > largest_held_out) continue;
        const Part to = in_test < n_test ? test : in_dev < n_dev ? dev : train;
        if (to == train) break;
        (to == test ? in_test : in_dev) += static_cast<Index>(component.pairs.size());
        for (const std::size_t i : component.pairs) part[i] = to;
    }
    ParallelText split;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        (part[i] == test  ? split.test
         : part[i] == dev ? split.dev
                          : split.train)
            .push_back(pairs[i]);
    require(in_dev >= n_dev && in_test >= n_test && !split.train.empty(),
            "split_pairs: {} pairs do not give {} for development and {} to test, and some to "
            "train on",
            pairs.size(), n_dev, n_test);
    return split;
}

Index count_leaks(std::span<const TextPair> train, std::span<const TextPair> held_out) {
    std::set<std::string> sources, targets;
    for (const TextPair& pair : train) {
        sources.insert(key_of(pair.source));
        targets.insert(key_of(pair.target));
    }
    return std::ranges::count_if(held_out, [&](const TextPair& pair) {
        return sources.contains(key_of(pair.source)) || targets.contains(key_of(pair.target));
    });
}

}  // namespace abh
