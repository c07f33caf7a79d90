#include "chapters/13_real_translation/data/parallel_text.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <system_error>

#include "chapters/13_real_translation/data/text.hpp"
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
    std::ranges::copy(targets(pairs), std::back_inserter(sentences));
    return sentences;
}
// [file]
namespace {

using Path = std::filesystem::path;

template <class... Args>
[[noreturn]] void fail(const Path& path, fmt::format_string<Args...> why, Args&&... args) {
    throw std::runtime_error(
        fmt::format("{}: {}", path.string(), fmt::format(why, std::forward<Args>(args)...)));
}

/// The text in a file, unpacked if it is gzip.
std::string unpacked(const Path& path, std::size_t most_bytes) {
    constexpr unsigned block = 1 << 16;
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzopen(path.c_str(), "rb"),
                                                          ::gzclose_r);
    if (!file) fail(path, "{}", std::generic_category().message(errno));
    std::string text;
    for (int n = 1, error = Z_OK; n > 0;) {
        const std::size_t before = text.size();
        text.resize(before + block);
        n = ::gzread(file.get(), &text[before], block);
        ::gzerror(file.get(), &error);
        if (error == Z_ERRNO) fail(path, "{}", std::generic_category().message(errno));
        if (error == Z_BUF_ERROR) fail(path, "the gzip file is truncated; download it again");
        if (error != Z_OK) fail(path, "the gzip file is damaged; download it again");
        text.resize(before + static_cast<std::size_t>(n));
        if (before == 0)
            if (const std::string kind = foreign_kind(text); !kind.empty()) fail(path, "{}", kind);
        if (text.size() > most_bytes) fail(path, "unpacks to more than {} bytes", most_bytes);
    }
    return text;
}

}  // namespace
// [lines]
std::vector<std::string> read_lines(const Path& path, const TextLimits& limits) {
    return lines_of(unpacked(path, limits.file_bytes), path, limits);
}
// [cleaning]
std::string CleanCounts::summary() const {
    std::string reasons;
    const auto add = [&](Index n, const char* reason) {
        if (n > 0) reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", n, reason);
    };
    add(empty, "empty");
    add(too_long, "too long");
    add(bad_ratio, "of unequal length");
    return fmt::format("{} pairs{}{}", kept, reasons.empty() ? "" : "; left out: ", reasons);
}

namespace {

bool too_long(const std::string& sentence, const CleanOptions& options) {
    return 1 + std::ranges::count(sentence, ' ') > options.max_words ||
           static_cast<Index>(code_points(sentence).size()) > options.max_characters;
}

bool of_unlike_length(const TextPair& pair, const CleanOptions& options) {
    const auto [shorter, longer] = std::minmax({pair.source.size(), pair.target.size()});
    return static_cast<double>(longer) > options.max_ratio * static_cast<double>(shorter);
}

/// Adds a pair to `pairs` if it can be used, and counts it in any case.
void add_pair(const TextPair& as_read, const CleanOptions& options, std::vector<TextPair>& pairs,
              CleanCounts& counts) {
    TextPair pair;
    try {
        pair = {tidy(as_read.source), tidy(as_read.target)};
    } catch (const std::invalid_argument&) {  // a letter has a thousand marks
        ++counts.too_long;
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
/// The pairs in the columns of a file; an empty line is a pair of empty sentences.
std::vector<TextPair> from_columns(const PairFiles& files, const TextLimits& limits) {
    std::vector<TextPair> pairs;
    const auto wanted = std::max(files.source_column, files.target_column);
    for (const std::string& line : read_lines(files.source, limits)) {
        TextPair& pair = pairs.emplace_back();
        if (line.empty()) continue;
        const std::vector<std::string_view> columns = columns_of(line);
        const auto there = static_cast<Index>(columns.size());
        if (there < wanted)
            fail(fmt::format("{}:{}", files.source.string(), pairs.size()),
                 "{} column{}, but column {} is wanted", there, there == 1 ? "" : "s", wanted);
        const auto column = [&](Index i) {
            return std::string(columns[static_cast<std::size_t>(i) - 1]);
        };
        pair = {column(files.source_column), column(files.target_column)};
    }
    return pairs;
}

/// The pairs in two files, line by line.
std::vector<TextPair> from_two(const PairFiles& files, const TextLimits& limits) {
    const std::vector<std::string> sources = read_lines(files.source, limits),
                                   targets = read_lines(files.target, limits);
    if (targets.size() != sources.size())
        fail(files.target,
             "{} lines, but {} has {}; line i of one must translate line i of the other",
             targets.size(), files.source.string(), sources.size());
    std::vector<TextPair> pairs;
    for (std::size_t i = 0; i < sources.size(); ++i) pairs.push_back({sources[i], targets[i]});
    return pairs;
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
            "{}: expected FILE, FILE:SOURCE_COLUMN:TARGET_COLUMN or SOURCE,TARGET", text);
    return {text};
}

std::vector<TextPair> read_pairs(const PairFiles& files, const CleanOptions& options,
                                 CleanCounts* counts, const TextLimits& limits) {
    std::vector<TextPair> pairs;
    CleanCounts found = counts ? *counts : CleanCounts();
    for (const TextPair& pair :
         files.target.empty() ? from_columns(files, limits) : from_two(files, limits))
        add_pair(pair, options, pairs, found);
    if (pairs.empty()) fail(files.source, "no usable pair; read so far: {}", found.summary());
    if (counts) *counts = found;
    return pairs;
}
// [components]
namespace {

/// What a sentence shares with its other spellings; a sentence without letters is its own key.
std::string key_of(const std::string& sentence) {
    std::string key = letters(sentence);
    return key.empty() ? sentence : key;
}

/// Which things are connected, as a forest: each tree holds the things of one component.
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

/// Connects pairs that share a sentence, and so also those that do by way of others.
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

/// The pairs of each component, in random order of the components: by the least number that one of
/// a component's pairs draws.
std::map<std::uint64_t, std::vector<std::size_t>> draw_components(
    const std::vector<TextPair>& pairs, std::uint64_t seed) {
    Components connected = connect(pairs);
    std::vector<std::uint64_t> least(pairs.size(), ~std::uint64_t{0});  // at the roots
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        std::uint64_t& place = least[connected.root(i)];
        place = std::min(place, draw(pairs[i], seed));
    }
    std::map<std::uint64_t, std::vector<std::size_t>> components;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        components[least[connected.root(i)]].push_back(i);
    return components;
}

/// Larger components go to training, because one sentence with many translations is no fair test.
constexpr std::size_t largest_held_out = 10;

}  // namespace

ParallelText split_pairs(const std::vector<TextPair>& pairs, Index n_dev, Index n_test,
                         std::uint64_t seed) {
    ParallelText split;
    std::vector<std::vector<TextPair>*> part(pairs.size(), &split.train);
    Index in_dev = 0, in_test = 0;
    for (const auto& [place, component] : draw_components(pairs, seed)) {
        if (component.size() > largest_held_out) continue;
        if (in_test >= n_test && in_dev >= n_dev) break;
        const bool to_test = in_test < n_test;
        (to_test ? in_test : in_dev) += static_cast<Index>(component.size());
        for (const std::size_t i : component) part[i] = to_test ? &split.test : &split.dev;
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) part[i]->push_back(pairs[i]);
    require(in_dev >= n_dev && in_test >= n_test && !split.train.empty(),
            "split_pairs: {} pairs are not enough for {} for development, {} for testing, and some "
            "to train on",
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
// [tatoeba]
std::filesystem::path tatoeba_file() {
    return ABH_TATOEBA;
}

ParallelText tatoeba(CleanCounts* counts) {
    const PairFiles chinese_to_english{tatoeba_file(), "", 2, 1};
    return split_pairs(read_pairs(chinese_to_english, {}, counts), 1000, 1000);
}

}  // namespace abh
