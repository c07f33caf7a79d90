#include <fmt/ranges.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chapters/03_masks/masks.hpp"
#include "lib/program/program.hpp"

using namespace abh;

namespace {
// [sentences]
using Words = std::vector<std::vector<std::string>>;  // sentences of words

const Words source{{"我", "有", "一", "个", "好", "朋", "友", "P"},
                   {"我", "有", "一", "个", "朋", "友", "P", "P"}};
const Words target{{"S", "I", "have", "a", "good", "friend", "."},
                   {"S", "I", "have", "a", "friend", ".", "P"}};

/// Numbers the words 1, 2, ... in the order in which they first appear; P, the padding, is 0.
Ids number(const Words& sentences) {
    std::map<std::string, std::int32_t> ids{{"P", 0}};
    Ids result({std::ssize(sentences), std::ssize(sentences[0])});  // [B, L]
    std::int32_t* next = result.data();
    for (const auto& sentence : sentences)
        for (const auto& word : sentence)
            *next++ = ids.try_emplace(word, static_cast<std::int32_t>(ids.size())).first->second;
    return result;
}
// [numbers]
// The running example with one number for each word instead of a row of numbers.
const std::vector<std::string> spoken{"S", "I", "have", "a", "good", "friend", "."};
const Tensor numbers({7}, {2, 4, 9, 1, 8, 6, 0});
const Real number_of_pad = 10;

/// *I have a friend .*, with as many pads behind it, and its ids, of which 0 is P.
std::pair<Tensor, Ids> padded(Index pads, Real pad) {
    const Index length = 5 + pads;
    Tensor words = Tensor::full({length}, pad);
    Ids ids = Ids::zeros({1, length});
    for (Index j = 0; const Index word : {1, 2, 3, 5, 6}) {
        words(j) = numbers(word);
        ids(0, j++) = 1;
    }
    return {words, ids};
}
// [mean]
/// What place i takes from the words of sentence 0: the mean of those that it may look at.
double mean_of_seen(const Tensor& words, const Mask& mask, Index i) {
    double sum = 0, count = 0;
    for (Index j = 0; j < mask.dim(2); ++j) {
        if (mask(0, i, j)) continue;  // hidden: neither added nor counted
        sum += words(j);
        count += 1;
    }
    return sum / count;
}
// [pads]
void show_pads(Results& results) {
    section("A pad in the mean");
    fmt::print("{:18}    alone   one pad  two pads\n", "");
    Tensor means({3, 3});
    const char* const ways[]{"mean of the row", "pads set to zero", "pads hidden"};
    for (Index way = 0; way < 3; ++way) {
        for (Index pads = 0; pads < 3; ++pads) {
            const auto [words, ids] = padded(pads, way == 1 ? 0 : number_of_pad);
            const Mask none = Mask::zeros({1, 1, words.dim(0)});
            const Mask mask = way == 2 ? padding_mask(Ids({1, 1}), ids) : none;
            means(way, pads) = static_cast<Real>(mean_of_seen(words, mask, 0));
        }
        fmt::print("{:18}{:9.2f}\n", ways[way], fmt::join(means.rows(way, way + 1).values(), " "));
    }
    results.array("pad_means", means);
    results.set("alone", means(0, 0));
    results.set("one_pad", means(0, 1));
    results.set("two_pads", means(0, 2));
    results.set("one_zero", means(1, 1));
    const auto [words, ids] = padded(1, number_of_pad);
    results.array("pad_words", words);
    results.set("mixed_up", mean_of_seen(words, invert(padding_mask(ids, ids)), 0));
}
// [answers]
void show_answers(Results& results) {
    const Index length = numbers.dim(0);
    const Mask none = Mask::zeros({1, length, length});
    const Mask future = look_ahead_mask(Ids::zeros({1, length}));
    Mask leak({1, length, length});
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) leak(0, i, j) = j > i + 1;
    const std::vector<std::pair<const char*, Mask>> masks{
        {"no mask", none}, {"one too far", leak}, {"future hidden", future}};

    section("The mean of each place");
    fmt::print("{:14}{:>6}\n", "", fmt::join(spoken, " "));
    fmt::print("{:14}{:6.0f}\n", "number", fmt::join(numbers.values(), " "));
    for (const auto& [name, mask] : masks) {
        fmt::print("{:13}", name);
        for (Index i = 0; i < length; ++i) fmt::print(" {:6.2f}", mean_of_seen(numbers, mask, i));
        fmt::print("\n");
    }
    results.set("i_leak", mean_of_seen(numbers, leak, 1));
    results.set("i_right", mean_of_seen(numbers, future, 1));

    section("Who notices that have became want");
    Tensor other = numbers.clone();
    other(2) = 16;
    fmt::print("{:14}{:>6}\n", "", fmt::join(spoken, " "));
    Tensor moved({3, length});
    for (Index m = 0; const auto& [name, mask] : masks) {
        for (Index i = 0; i < length; ++i)
            moved(m, i) =
                static_cast<Real>(mean_of_seen(other, mask, i) - mean_of_seen(numbers, mask, i));
        fmt::print("{:14}{:6.2f}\n", name, fmt::join(moved.rows(m, m + 1).values(), " "));
        ++m;
    }
    results.array("moved", moved);

    section("A copier sits the exam");
    std::vector<std::string> answers(spoken.begin() + 1, spoken.end());
    answers.push_back("E");
    fmt::print("{:14}{:>6}\n{:14}{:>6}\n", "reads", fmt::join(spoken, " "), "must say",
               fmt::join(answers, " "));
    std::vector<Index> copied;
    for (const auto& [name, mask] : masks) {
        Index right = 0;
        fmt::print("{:13}", name);
        for (Index i = 0; i < length; ++i) {
            const bool sees = i + 1 < length && !mask(0, i, i + 1);
            fmt::print(" {:>6}", sees ? answers[static_cast<std::size_t>(i)] : "?");
            right += sees;
        }
        fmt::print("  {} of {}\n", right, length);
        copied.push_back(right);
    }
    results.set("copied_unmasked", copied[0]);
    results.set("copied_right", copied[2]);
}
// [demos]
void show_demos() {
    section("Which ids are padding");
    const Ids list({1, 5}, {1, 2, 3, 4, 0});
    const Mask hidden = padding_mask(Ids({1, 1}), list);  // [1, 1, 5]
    fmt::print("1 2 3 4 0 compared with 0:");
    for (std::uint8_t h : hidden.values()) fmt::print(" {}", h ? "T" : "F");
    fmt::print("\n");

    section("Padding mask of three sentences");
    const Ids queries({3, 5}, {1, 2, 3, 0, 0, 3, 4, 5, 6, 0, 2, 3, 0, 0, 0});
    const Ids keys({3, 5}, {1, 2, 3, 4, 5, 1, 2, 0, 0, 0, 1, 2, 3, 0, 0});
    fmt::print("{}", to_string(padding_mask(queries, keys), MaskStyle::booleans));

    section("Triangles");
    for (Index offset : {0, -1, 1})
        fmt::print("offset {}\n{}", offset,
                   to_string(upper_triangle(Ids({4}, {1, 2, 3, 4}), offset)));

    section("Look-ahead mask of two sentences");
    const Mask future = look_ahead_mask(Ids({2, 5}, {1, 2, 3, 0, 0, 1, 2, 3, 4, 0}));
    fmt::print("{}", to_string(future, MaskStyle::bytes));
    fmt::print("\nor in short\n\n{}", to_string(future, MaskStyle::digits));
}
// [batch]
/// Prints the mask of the last sentence, with its query's word beside each row; a 1 hides.
void print_mask(const char* title, const Mask& mask, const std::vector<std::string>& queries) {
    fmt::print("\n{} {}\n", title, mask.shape());
    for (Index i = 0; i < mask.dim(1); ++i) {
        for (Index j = 0; j < mask.dim(2); ++j) fmt::print("{} ", mask(mask.dim(0) - 1, i, j));
        fmt::print(" {}\n", queries[static_cast<std::size_t>(i)]);
    }
}

void show_batch(Results& results) {
    section("The masks of a batch, its last sentence");
    const Ids src = number(source), tgt = number(target);  // [B, Ls], [B, Lt]
    const Mask encoder = padding_mask(src, src);           // [B, Ls, Ls]
    const Mask pads = padding_mask(tgt, tgt), future = look_ahead_mask(tgt);
    const Mask decoder = mask_or(pads, future);  // [B, Lt, Lt]
    const Mask cross = padding_mask(tgt, src);   // [B, Lt, Ls]
    print_mask("source to source", encoder, source.back());
    print_mask("target to target", decoder, target.back());
    print_mask("target to source", cross, target.back());

    results.array("encoder", encoder);
    results.array("target_pads", pads);
    results.array("future", future);
    results.array("decoder", decoder);
    results.array("cross", cross);
}
// [leak]
/// Row i of the decoder must predict the word at place i + 1 of its input. How many rows, in
/// percent, see that word if the mask hides only `j - i >= 2`?
void keep_leak(Results& results) {
    const Index length = 50, offset = 2;
    const Ids hidden = upper_triangle(Ids::full({length}, 1), offset);  // 1 = hide
    Index answers = 0;
    for (Index i = 0; i + 1 < length; ++i) answers += !hidden(i, i + 1);
    results.set("leak_2_50", 100 * static_cast<double>(answers) / static_cast<double>(length));
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Program program("Hide padding and the future");
    return program.run(argc, argv, [&] {
        for (std::size_t b = 0; b < source.size(); ++b) {
            program.results().set(fmt::format("source_{}", b),
                                  fmt::format("{}", fmt::join(source[b], " ")));
            program.results().set(fmt::format("target_{}", b),
                                  fmt::format("{}", fmt::join(target[b], " ")));
        }
        show_pads(program.results());
        show_answers(program.results());
        show_demos();
        show_batch(program.results());
        keep_leak(program.results());
    });
}
