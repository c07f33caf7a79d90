#include "judge/answer/cases.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const char* criterion, const Tensor& x, bool counts = false) {
    const Index n_rows = x.dim(0), n = x.dim(1), real = sizeof(Real);
    Tensor sums({n_rows}), both({n_rows}), first({n_rows});
    for (Index r = 0; r < n_rows; ++r) {
        sums(r) = first(r) = 0;
        for (Index j = 0; j < n; ++j) {
            sums(r) += x(r, j);
            if (j < 16) first(r) += x(r, j);
        }
    }
    for (Index r = 0; r < n_rows; ++r)
        both(r) = sums(r / 2 * 2) + (r / 2 * 2 + 1 < n_rows ? sums(r / 2 * 2 + 1) : Real(0));
    Case c{.criterion = criterion,
           .call = counts ? "counted" : "row_sums",
           .arguments = values(x),
           .results = values(sums),
           .about = "x " + to_string(x.shape()) + ", drawn",
           .names = {"x", "the sum", "the number of bytes read and written",
                     "the number of requests beyond what two rows per warp need",
                     "the number of barriers and requests to shared memory"},
           .mistakes = {{"the two rows of a warp are added to each other: an exchange goes beyond "
                         "the 16 lanes",
                         values(both)},
                        {"each lane adds one number only", values(first)}}};
    if (counts) {
        const Index pairs = (n_rows + 1) / 2, bytes = real * (n_rows * n + n_rows);
        append(c.results, bytes, 0, 0);
        c.mistakes = {
            {"these are the requests of one row per warp",
             values(sums, bytes, n_rows * ((n + 31) / 32 + 1) - pairs * ((n + 15) / 16 + 1), 0)},
            {"all 16 lanes write the sum; one is enough",
             values(sums, real * (n_rows * n + 16 * n_rows), 0, 0)}};
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "pairs of rows", cases.normal({2, 16}));
    add(cases, "pairs of rows", cases.normal({32, 8}));
    for (const Index n : {1, 15, 16, 17, 31, 33, 1000})
        add(cases, "rows of every length", cases.normal({2 * cases.between(1, 4), n}));
    for (const Index n_rows : {1, 3, 17, 33})
        add(cases, "one row too few", cases.normal({n_rows, cases.between(17, 40)}));
    add(cases, "half the requests", cases.normal({64, 16}), true);
    add(cases, "half the requests", cases.normal({48, 10}), true);
}
