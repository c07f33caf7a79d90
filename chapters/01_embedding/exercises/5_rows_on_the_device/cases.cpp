#include "judge/answer/cases.hpp"

#include <cmath>

#include "lib/eigen.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const char* criterion, const char* call, Index B, Index L, Index V,
         Index d_model, Real factor = 1) {
    const Tensor table = cases.normal({V, d_model});
    const Ids ids = cases.ids({B, L}, V);
    Tensor y({B, L, d_model}), unscaled({B, L, d_model});
    for (Index r = 0; r < ids.size(); ++r) {
        matrix(unscaled).row(r) = matrix(table).row(ids.data()[r]);
        matrix(y).row(r) = factor * matrix(unscaled).row(r);
    }
    Case c{.criterion = criterion,
           .call = call,
           .arguments = values(table, ids, factor),
           .results = values(y),
           .about = fmt::format("table {}, ids {}, factor {:.4g}", table.shape(), ids.shape(),
                                static_cast<double>(factor)),
           .names = {"table", "ids", "factor", "y"},
           .mistakes = {{"the factor is missing", values(unscaled)}}};
    if (c.call != "gather") {
        c.results = values(y, Index{0});
        if (c.call == "idle") c.results.push_back(value(Index{0}));
        c.mistakes.clear();
        c.names.push_back(c.call == "idle"
                              ? "the number of threads without a number of y, beyond one block's"
                              : "the number of 32-byte pieces of memory touched beyond a quarter "
                                "more than needed");
        if (c.call == "idle") c.names.push_back("the number of elements of y without a thread");
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "rows", "gather", 1, 1, 3, 1);
    add(cases, "rows", "gather", 2, cases.between(3, 9), 10, 3);
    add(cases, "rows", "gather", 3, 5, 4, 17, std::sqrt(Real(17)));
    add(cases, "rows", "gather", 2, 7, 6, 300, Real(0.5));
    for (const Index d_model : {32, 64, 96})
        add(cases, "memory in whole pieces", "pieces", 8, 8, 20, d_model);
    for (const Index d_model : {3, 12, 40})
        add(cases, "no idle threads", "idle", 16, 24, 20, d_model);
}
