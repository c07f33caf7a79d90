#include "judge/answer/cases.hpp"

#include "chapters/03_masks/masks.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add_mask(Cases& cases, const Mask& keep) {
    Ids ids(keep.shape());
    for (Index i = 0; i < ids.size(); ++i) ids.data()[i] = keep.data()[i];
    const Mask pads = padding_mask(ids, ids), future = look_ahead_mask(ids);
    const Mask mask = mask_or(pads, future);
    Mask both = mask.clone();
    for (Index b = 0; b < both.dim(0); ++b)
        for (Index i = 0; i < both.dim(1); ++i)
            for (Index j = 0; j < both.dim(2); ++j)
                if (keep(b, i) == 0) both(b, i, j) = 1;
    cases.add({.criterion = "the repair",
               .call = "decoder_mask",
               .arguments = values(keep),
               .results = values(mask),
               .about = "keep " + to_string(keep.shape()),
               .names = {"keep", "mask"},
               .mistakes = {
                   {"this is what the original code gives; its mistake is still there",
                    values(invert(mask_or(invert(pads), invert(future))))},
                   {"keep and hide are mixed up: a 1 hides", values(invert(mask))},
                   {"pads are hidden as queries, too; hide only pads that are keys", values(both)},
                   {"the future is seen", values(pads)},
                   {"pads are seen", values(future)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add_mask(cases, Mask({1, 3}, {1, 1, 0}));
    add_mask(cases, Mask::full({2, 4}, 1));
    add_mask(cases, Mask({2, 4}, {0, 1, 1, 0, 1, 0, 0, 1}));
    Mask keep({3, 6});
    const Ids drawn = cases.ids(keep.shape(), 2);
    for (Index i = 0; i < keep.size(); ++i) keep.data()[i] = drawn.data()[i] != 0;
    add_mask(cases, keep);
    const char* own = "your own decoder_mask";
    for (const char* criterion : {"your test: the code as it was", "your test: other mistakes"}) {
        cases.add_test(criterion, "own", own);
        cases.add_test(criterion, "right", "a correct function that is not yours");
    }
    cases.add_test("your test: the code as it was", "as it was", "decoder_mask as it was");
    const char* other = "your test: other mistakes";
    cases.add_test(other, "1 keeps", "a function in which a 1 keeps");
    cases.add_test(other, "pads are seen", "a function that hides only the future");
    cases.add_test(other, "the future is seen", "a function that hides only pads");
    cases.add_test(other, "queries", "a function that hides pads as queries");
    cases.add_test(other, "both", "a function that hides pads as keys and as queries");
    cases.add_test(other, "a leak", "a function that shows each row the next word");
}
