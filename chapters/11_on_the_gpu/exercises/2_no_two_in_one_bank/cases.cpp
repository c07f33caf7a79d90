#include "judge/answer/cases.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Tensor turned(const Tensor& x) {
    Tensor y({x.dim(1), x.dim(0)});
    for (Index i = 0; i < x.dim(0); ++i)
        for (Index j = 0; j < x.dim(1); ++j) y(j, i) = x(i, j);
    return y;
}

/// Each tile of 32 x 32 transposed in its old place, as if a block wrote where it has read.
Tensor turned_in_place(const Tensor& x) {
    Tensor y({x.dim(1), x.dim(0)});
    y.fill(0);
    for (Index i = 0; i < x.dim(0); ++i)
        for (Index j = 0; j < x.dim(1); ++j) {
            const Index to_i = i / 32 * 32 + j % 32, to_j = j / 32 * 32 + i % 32;
            if (to_i < x.dim(1) && to_j < x.dim(0)) y(to_i, to_j) = x(i, j);
        }
    return y;
}

void add_places(Cases& cases) {
    cases.add({.criterion = "places",
               .call = "places",
               .arguments = {},
               .results = values(0, 0, 2, 2),
               .about = "place(i, j) for all i and j",
               .names = {"the number of places outside 0 to 1023",
                         "the number of elements that share a place with another",
                         "the turns that a warp needs for a row in the worst case",
                         "the turns that a warp needs for a column in the worst case"},
               .mistakes = {
                   {"the elements of a column all lie in the same bank", values(0, 0, 2, 32)},
                   {"the elements of a row all lie in the same bank", values(0, 0, 32, 2)},
                   {"a row of 33 numbers: the tile has no room for that", values(31, 0, 2, 2)}}});
}

void add(Cases& cases, const char* criterion, const Tensor& x, bool counts = false) {
    Case c{.criterion = criterion,
           .call = counts ? "counted" : "turn",
           .arguments = values(x),
           .results = values(turned(x)),
           .tolerance = 0,
           .about = "x " + to_string(x.shape()) + ", drawn",
           .names = {"x", "y", "the number of bytes read and written",
                     "the number of sectors beyond what neighbors need",
                     "the number of turns beyond two per request"},
           .mistakes = {{"each tile is transposed, but stays where it was: swap the tile's row "
                         "and column, too",
                         values(turned_in_place(x))}}};
    if (counts) {
        const Index bytes = 2 * x.size() * static_cast<Index>(sizeof(Real));
        append(c.results, bytes, 0, 0);
        c.mistakes = {
            {"reads or writes go down a column of device memory: take the detour through "
             "shared memory",
             values(turned(x), bytes, x.size() - x.size() / 4, 0)}};
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add_places(cases);
    add(cases, "transposed", cases.normal({32, 32}));
    add(cases, "transposed", cases.normal({64, 64}));
    add(cases, "transposed", cases.normal({64, 96}));
    add(cases, "transposed", cases.normal({1, cases.between(33, 70)}));
    add(cases, "transposed", cases.normal({cases.between(33, 70), cases.between(2, 31)}));
    add(cases, "in order", cases.normal({96, 128}), true);
    add(cases, "in order", cases.normal({32, 64}), true);
}
