#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <string>
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
// [softmax]
/// The larger a score, the larger its weight; the weights sum to 1, and a hidden key's weight is 0.
std::vector<double> masked_softmax(const std::vector<double>& scores,
                                   const std::vector<int>& hidden) {
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t j = 0; j < scores.size(); ++j) {
        weights.push_back(hidden[j] ? 0 : std::exp(scores[j]));
        sum += weights.back();
    }
    for (double& weight : weights) weight /= sum;
    return weights;
}
// [four scores]
void show_softmax(Results& results) {
    const std::vector<double> scores{1, 2, 3, 2};
    const std::vector<std::pair<const char*, std::vector<int>>> masks{
        {"no mask", {0, 0, 0, 0}}, {"pads hidden", {0, 0, 0, 1}}, {"future hidden", {0, 0, 1, 1}}};
    section("Four scores and three masks");
    fmt::print("{:14}      S      I   have      P\n{:14} {:6.3f}\n", "", "scores",
               fmt::join(scores, " "));
    Tensor all({3, 4});
    Mask all_hidden({3, 4});
    for (Index m = 0; const auto& [name, hidden] : masks) {
        const std::vector<double> weights = masked_softmax(scores, hidden);
        fmt::print("{:14} {:6.3f}\n", name, fmt::join(weights, " "));
        for (Index j = 0; j < 4; ++j) {
            all(m, j) = static_cast<Real>(weights[static_cast<std::size_t>(j)]);
            all_hidden(m, j) = static_cast<std::uint8_t>(hidden[static_cast<std::size_t>(j)]);
        }
        ++m;
    }
    results.array("four_weights", all);
    results.array("four_hidden", all_hidden);
    results.set("answer_share", all(0, 2));
    results.set("pad_share", all(0, 3));

    section("What a score moves");
    fmt::print("{:14}      S      I   have      P\n", "");
    for (const auto& [name, hidden] : masks) {
        fmt::print("{:14}", name);
        for (std::size_t j = 0; j < scores.size(); ++j) {
            std::vector<double> up = scores, down = scores;
            up[j] += 1e-5;
            down[j] -= 1e-5;
            const double slope =
                (masked_softmax(up, hidden)[0] - masked_softmax(down, hidden)[0]) / 2e-5;
            fmt::print(" {:6.3f}", slope);
        }
        fmt::print("\n");
    }
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
        show_softmax(program.results());
        show_demos();
        show_batch(program.results());
        keep_leak(program.results());
    });
}
