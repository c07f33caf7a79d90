#include "judge/answer/cases.hpp"

#include "chapters/03_masks/masks.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// A mask of the shape of `like` that is 1 where `hides(b, i, j)`.
template <class Hides>
Values where(const Mask& like, Hides hides) {
    Mask mask(like.shape());
    for (Index b = 0; b < mask.dim(0); ++b)
        for (Index i = 0; i < mask.dim(2); ++i)
            for (Index j = 0; j < mask.dim(3); ++j) mask(b, 0, i, j) = hides(b, i, j);
    return values(mask);
}

void add_cross(Cases& cases, const Ids& target, const Ids& source, std::int32_t pad) {
    const Mask mask = over_heads(padding_mask(target, source, pad));
    cases.add(
        {.criterion = "cross-attention",
         .call = "cross_mask",
         .arguments = values(target, source, pad),
         .results = values(mask),
         .about = fmt::format("target {}, source {}, pad {}", target.shape(), source.shape(), pad),
         .names = {"target", "source", "pad", "mask"},
         .mistakes = {
             {"keep and hide are mixed up: a 1 hides", values(invert(mask))},
             {"pads are hidden as queries, too, but only a pad that is a key is hidden",
              where(mask, [&](Index b, Index i,
                              Index j) { return source(b, j) == pad || target(b, i) == pad; })},
             {"the target's pads are hidden as queries; hide the source's pads as keys",
              where(mask, [&](Index b, Index i, Index) { return target(b, i) == pad; })},
             {"the id 0 is taken for the pad's id, which is the parameter pad",
              where(mask, [&](Index b, Index, Index j) { return source(b, j) == 0; })}}});
}

void add_decoder(Cases& cases, const char* criterion, const Ids& ids, std::int32_t pad) {
    const Mask mask = over_heads(mask_or(padding_mask(ids, ids, pad), look_ahead_mask(ids)));
    cases.add(
        {.criterion = criterion,
         .call = "decoder_mask",
         .arguments = values(ids, pad),
         .results = values(mask),
         .about = fmt::format("target {}, pad {}", ids.shape(), pad),
         .names = {"target", "pad", "mask"},
         .mistakes = {
             {"the row sees one place too far, namely the word that it must predict",
              where(mask,
                    [&](Index b, Index i, Index j) { return j > i + 1 || ids(b, j) == pad; })},
             {"a word is hidden from itself, so the first word sees nothing at all",
              where(mask, [&](Index b, Index i, Index j) { return j >= i || ids(b, j) == pad; })},
             {"pads are seen", where(mask, [&](Index, Index i, Index j) { return j > i; })},
             {"the future is seen",
              where(mask, [&](Index b, Index, Index j) { return ids(b, j) == pad; })},
             {"only pads in the future are hidden, but either reason is enough",
              where(mask, [&](Index b, Index i, Index j) { return j > i && ids(b, j) == pad; })},
             {"a pad should be hidden as a key, not as a query",
              where(mask, [&](Index b, Index i, Index j) { return j > i || ids(b, i) == pad; })},
             {"pads are hidden as queries, too, but only a pad that is a key is hidden",
              where(mask, [&](Index b, Index i,
                              Index j) { return j > i || ids(b, i) == pad || ids(b, j) == pad; })},
             {"this hides the past; rows are queries, and columns are keys",
              where(mask, [&](Index b, Index i, Index j) { return j < i || ids(b, j) == pad; })},
             {"the id 0 is taken for the pad's id, which is the parameter pad",
              where(mask, [&](Index b, Index i, Index j) { return j > i || ids(b, j) == 0; })},
             {"keep and hide are mixed up: a 1 hides", values(invert(mask))}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add_cross(cases, Ids({1, 3}, {1, 2, 3}), Ids({1, 4}, {4, 5, 0, 0}), 0);
    add_cross(cases, cases.ids({3, 5}, 3), cases.ids({3, 4}, 3), 0);
    add_cross(cases, cases.ids({4, 1}, 9), Ids({4, 2}, {8, 0, 3, 8, 8, 8, 0, 0}), 8);
    for (const Index n : {5, 2, 1}) add_decoder(cases, "the future", cases.ids({2, n}, 4), 4);
    add_decoder(cases, "pads and future", Ids({1, 4}, {1, 2, 3, 0}), 0);
    add_decoder(cases, "pads and future", Ids({2, 5}, {7, 7, 1, 2, 3, 1, 0, 7, 2, 7}), 7);
    add_decoder(cases, "pads and future", cases.ids({3, 6}, 3), 1);
}
