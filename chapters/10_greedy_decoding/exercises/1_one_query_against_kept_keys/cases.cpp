#include "judge/answer/cases.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "chapters/10_greedy_decoding/key_values.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const char* criterion, const Tensor& q, const KeyValues& kv, Index length,
         const Mask& hidden, const Ids& sentences, const AttentionOptions& o = {}) {
    const Index n = q.dim(0), room = kv.k.dim(2);
    const auto result = [&](Index keys, const Mask& mask, const Ids& of) {
        return values(attend_cached(q, kv, keys, mask, of, o));
    };
    Mask none = Mask::zeros(hidden.shape()), triangle = none.clone();
    for (Index b = 0; b < none.dim(0); ++b)
        for (Index j = 1; j < room; ++j) triangle(b, 0, j, 0) = 1;
    Mask by_number = hidden.clone();  // query i reads row i, not its sentence's row
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < room; ++j) by_number(sentences(i), 0, j, 0) = hidden(i, 0, j, 0);
    const auto with = [&](const AttentionOptions& other) {
        return values(attend_cached(q, kv, length, hidden, sentences, other));
    };
    AttentionOptions bare = o, usual = o, filled = o;
    bare.scale = 1;
    usual.scale = AttentionOptions().scale;
    filled.fill = AttentionOptions().fill;
    Ids first({n});
    std::iota(first.values().begin(), first.values().end(), 0);
    cases.add(
        {.criterion = criterion,
         .call = "attend_cached",
         .arguments = values(q, kv.k, kv.v, length, hidden, sentences, o.scale, o.fill,
                             o.fill_place == FillPlace::before_scale),
         .results = result(length, hidden, sentences),
         .about = fmt::format("q {}, k {}, length {}", q.shape(), kv.k.shape(), length),
         .names = {"q", "k", "v", "length", "hidden", "sentences", "scale", "fill", "before_scale",
                   "the context"},
         .mistakes = {{"the keys are those of the first n sentences instead of those that go on",
                       result(length, hidden, first)},
                      {"the room after the last key is read", result(room, hidden, sentences)},
                      {"hidden keys are seen", result(length, none, sentences)},
                      {"the newest key is left out, but the query sees its own word, too",
                       result(std::max<Index>(length - 1, 1), hidden, sentences)},
                      {"hidden is read at the query's number instead of its sentence's",
                       result(length, by_number, sentences)},
                      {"the scale is missing", with(bare)},
                      {"the scale is the usual one instead of the one in the options", with(usual)},
                      {"the fill is the usual one instead of the one in the options", with(filled)},
                      {"each query sees the first key alone; was a triangle made for one row?",
                       result(length, triangle, sentences)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto kept = [&](const Shape& shape) {
        return KeyValues{cases.normal(shape), cases.normal(shape)};
    };
    const auto seen = [](Index batch, Index room) { return Mask::zeros({batch, 1, room, 1}); };
    const Ids one({1}, {0});
    const Real ln3 = std::log(Real(3));
    const KeyValues by_hand{Tensor({1, 1, 3, 1}, {0, ln3, 9}), Tensor({1, 1, 3, 1}, {4, 8, 9})};
    const Tensor q1({1, 1, 1, 1}, {1});
    add(cases, "one sentence", q1, by_hand, 2, seen(1, 3), one);
    add(cases, "one sentence", cases.normal({1, 3, 1, 2}), kept({1, 3, 8, 2}), 5, seen(1, 8), one);
    add(cases, "one sentence", cases.normal({1, 2, 1, 5}), kept({1, 2, 4, 5}), 4, seen(1, 4), one);
    add(cases, "one sentence", cases.normal({1, 2, 1, 5}), kept({1, 2, 4, 5}), 1, seen(1, 4), one);
    const char* const several = "several sentences, some of which go on";
    add(cases, several, cases.normal({3, 2, 1, 4}), kept({3, 2, 8, 4}), 3, seen(3, 8),
        Ids({3}, {0, 1, 2}));
    add(cases, several, cases.normal({2, 2, 1, 3}), kept({5, 2, 4, 3}), 3, seen(5, 4),
        Ids({2}, {1, 4}));
    Mask hidden({3, 1, 5, 1}, {0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1});
    add(cases, "hidden keys", q1, by_hand, 2, Mask({1, 1, 3, 1}, {0, 1, 0}), one);
    add(cases, "hidden keys", cases.normal({3, 2, 1, 3}), kept({3, 2, 5, 3}), 4, hidden,
        Ids({3}, {0, 1, 2}));
    add(cases, "hidden keys", cases.normal({2, 2, 1, 3}), kept({3, 2, 5, 3}), 4, hidden,
        Ids({2}, {0, 2}));
    const AttentionOptions other{Real(0.3), Real(-2), FillPlace::before_scale};
    add(cases, "scale and fill", cases.normal({1, 2, 1, 3}), kept({1, 2, 5, 3}), 4, seen(1, 5), one,
        {.scale = Real(0.8)});
    add(cases, "scale and fill", cases.normal({1, 2, 1, 3}), kept({1, 2, 5, 3}), 4,
        Mask({1, 1, 5, 1}, {0, 1, 0, 1, 0}), one, other);
}
