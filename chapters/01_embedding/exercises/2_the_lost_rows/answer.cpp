// Exercise 01.2: rows that get lost, and the test that finds them.
#include <functional>

#include "lib/eigen.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {

/// Adds row r of `dy` to row ids[r] of `dtable`, for each r.
/// @param dtable  [V, d_model]; already holds numbers
/// @param ids     [R], in any order, and each any number of times
/// @param dy      [R, d_model]
void add_rows(Tensor& dtable, const Ids& ids, const Tensor& dy) {
    // solution
    for (Index r = 0; r < ids.size(); ++r) matrix(dtable).row(ids(r)) += matrix(dy).row(r);
    // stub
    // Tensor sums(dy.shape());  // all rows are read first, then all are written
    // for (Index r = 0; r < ids.size(); ++r)
    //     matrix(sums).row(r) = matrix(dtable).row(ids(r)) + matrix(dy).row(r);
    // for (Index r = 0; r < ids.size(); ++r) matrix(dtable).row(ids(r)) = matrix(sums).row(r);
    // end
}

/// Your test: whether `f` does what `add_rows` promises.
bool accepts(const std::function<void(Tensor& dtable, const Ids& ids, const Tensor& dy)>& f) {
    // solution
    const Ids ids({6}, {2, 0, 2, 2, 1, 0});
    Tensor dtable({4, 5}), dy({6, 5});
    for (Index i = 0; i < dtable.size(); ++i) dtable.data()[i] = static_cast<Real>(100 * i + 7);
    for (Index i = 0; i < dy.size(); ++i) dy.data()[i] = static_cast<Real>(i * i);
    Tensor expected = dtable.clone();
    for (Index r = 0; r < 6; ++r)
        for (Index c = 0; c < 5; ++c) expected(ids(r), c) += dy(r, c);
    f(dtable, ids, dy);
    return max_difference(dtable, expected) == 0;
    // stub
    // const Ids ids({2}, {1, 0});
    // const Tensor dy({2, 2}, {1, 2, 3, 4});
    // Tensor dtable = Tensor::zeros({3, 2});
    // f(dtable, ids, dy);
    // return max_difference(dtable, Tensor({3, 2}, {3, 4, 1, 2, 0, 0})) == 0;
    // end
}

}  // namespace abh::mine
