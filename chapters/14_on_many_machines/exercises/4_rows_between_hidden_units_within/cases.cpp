#include "judge/answer/cases.hpp"

#include <algorithm>

#include "lib/eigen.hpp"
#include "lib/matmul.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// All ranks' tensors: `[ranks, ...]`; the rows of rank 0 come first, and so do its hidden units.
struct Block {
    Tensor x;       ///< [n, rows, d]
    Tensor w1, b1;  ///< [n, h, d], [n, h]
    Tensor w2;      ///< [n, d, h]
    Tensor b2;      ///< [d]

    Index ranks() const { return x.dim(0); }
    Index rows() const { return x.dim(1); }
    Index d() const { return x.dim(2); }
    Index h() const { return w1.dim(1); }
};

Tensor matrix_of(const Tensor& all, Index rank) {
    return all.rows(rank, rank + 1).reshape({all.dim(1), all.dim(2)});
}

/// One rank's hidden units before ReLU, for all rows: [n rows, h]
Tensor before_relu(const Block& block, Index rank) {
    Tensor z = matmul(block.x.reshape({block.ranks() * block.rows(), block.d()}),
                      matrix_of(block.w1, rank), {.transpose_b = true});
    matrix(z).rowwise() += vector(block.b1.rows(rank, rank + 1)).transpose();
    return z;
}

Tensor hidden(const Block& block, Index rank) {
    Tensor a = before_relu(block, rank);
    matrix(a) = matrix(a).cwiseMax(0);
    return a;
}

/// What one rank's hidden units add to all rows: [n, rows, d]
Tensor product(const Block& block, Index rank) {
    return matmul(hidden(block, rank), matrix_of(block.w2, rank), {.transpose_b = true})
        .reshape(block.x.shape());
}

/// y of all ranks, with `biases` times b2.
Tensor forward(const Block& block, Index biases = 1) {
    Tensor y = Tensor::zeros(block.x.shape());
    for (Index r = 0; r < block.ranks(); ++r) y += product(block, r);
    matrix(y).rowwise() += static_cast<Real>(biases) * vector(block.b2).transpose();
    return y;
}

struct Gradients {
    Tensor dx, dw1, db1, dw2, db2;
};

void put(Tensor& all, Index rank, const Tensor& one) {
    Tensor to = all.rows(rank, rank + 1).reshape(one.shape());
    std::copy(one.values().begin(), one.values().end(), to.values().begin());
}

/// @param own_rows   each rank reads only its own rows of dy, although it needs those of all
/// @param own_units  a rank's dx comes only from its own hidden units
/// @param steps      whether ReLU's derivative is applied
Gradients backward(const Block& block, const Tensor& dy, bool own_rows = false,
                   bool own_units = false, bool steps = true) {
    const Index n = block.ranks(), all = n * block.rows();
    Gradients g{Tensor::zeros(block.x.shape()), Tensor(block.w1.shape()), Tensor(block.b1.shape()),
                Tensor(block.w2.shape()), Tensor::zeros({n, block.d()})};
    for (Index r = 0; r < n; ++r) {
        Tensor seen = own_rows ? Tensor::zeros(dy.shape()) : dy.clone();
        if (own_rows) put(seen, r, matrix_of(dy, r));
        const Tensor rows_seen = seen.reshape({all, block.d()});
        const Tensor a = hidden(block, r), x = block.x.reshape({all, block.d()});
        Tensor dz = matmul(rows_seen, matrix_of(block.w2, r));
        if (steps) matrix(dz).array() *= (matrix(a).array() > 0).cast<Real>();
        const Tensor through = matmul(dz, matrix_of(block.w1, r)).reshape(block.x.shape());
        if (own_units)
            put(g.dx, r, matrix_of(through, r));
        else
            g.dx += through;
        Tensor db1 = Tensor::zeros({block.h()}), db2 = Tensor::zeros({block.d()});
        add_column_sums(db1, dz);
        add_column_sums(db2, rows_seen);
        put(g.dw1, r, matmul(dz, x, {.transpose_a = true}));
        put(g.db1, r, db1);
        put(g.dw2, r, matmul(rows_seen, a, {.transpose_a = true}));
        put(g.db2, r, db2);
    }
    return g;
}

Tensor times(const Tensor& x, Index factor) {
    Tensor product = x.clone();
    product *= static_cast<Real>(factor);
    return product;
}

/// The sum over ranks, in the entry of each rank.
Tensor summed(const Tensor& all) {
    Tensor sums = all.clone();
    const Index n = all.dim(0), size = all.size() / n;
    Tensor sum = Tensor::zeros({size}), flat = sums.reshape({n, size});
    add_column_sums(sum, flat);
    for (Index r = 0; r < n; ++r) put(flat, r, sum);
    return sums;
}

void add_forward(Cases& cases, const Block& block, const std::string& about) {
    Tensor own(block.x.shape());
    for (Index r = 0; r < block.ranks(); ++r) put(own, r, matrix_of(product(block, r), r));
    matrix(own).rowwise() += vector(block.b2).transpose();
    Tensor of_rank_0 = forward(block, 0);
    put(of_rank_0, 0, matrix_of(forward(block), 0));
    cases.add(
        {.criterion = "forward",
         .call = "forward",
         .arguments = values(block.x, block.w1, block.b1, block.w2, block.b2),
         .results = values(forward(block)),
         .about = about,
         .names = {"x", "w1", "b1", "w2", "b2", "y of all ranks"},
         .mistakes = {{"b2 belongs to y once: here every rank adds it before the sum",
                       values(forward(block, block.ranks()))},
                      {"b2 is missing", values(forward(block, 0))},
                      {"only rank 0 adds b2 after the sum, but each rank has rows of its own there",
                       values(of_rank_0)},
                      {"a rank's rows lack what the hidden units of the other ranks add to them",
                       values(own)}}});
}

void add_backward(Cases& cases, const Block& block, const Tensor& dy, const std::string& about) {
    const Gradients g = backward(block, dy);
    const auto y = [&] { return forward(block); };
    require_close(g.dx, differences(y, block.x, dy), "dx");
    require_close(g.dw1, differences(y, block.w1, dy), "dw1");
    require_close(g.db1, differences(y, block.b1, dy), "db1");
    require_close(g.dw2, differences(y, block.w2, dy), "dw2");
    require_close(g.db2.rows(0, 1).reshape(block.b2.shape()), differences(y, block.b2, dy), "db2");
    const Index n = block.ranks();
    const std::vector<std::string> arguments = {"dy", "x", "w1", "b1", "w2", "b2"};
    const auto add = [&](const char* criterion, const char* call, const Values& right,
                         const std::vector<std::string>& names,
                         const std::vector<Mistake>& mistakes) {
        std::vector<std::string> all = arguments;
        all.insert(all.end(), names.begin(), names.end());
        cases.add({.criterion = criterion,
                   .call = call,
                   .arguments = values(dy, block.x, block.w1, block.b1, block.w2, block.b2),
                   .results = right,
                   .about = about,
                   .names = all,
                   .constants = {{"the number of ranks", static_cast<double>(n)}},
                   .mistakes = mistakes});
    };
    const Gradients own_rows = backward(block, dy, true),
                    straight = backward(block, dy, false, false, false);
    const char* const once_more =
        "this is n times too large: one rank has dy of a row, so it is gathered, not added";
    add("dx", "dx", values(g.dx), {"dx of all ranks"},
        {{"the rows reach the loss through the hidden units of all ranks, not only their own",
          values(backward(block, dy, false, true).dx)},
         {"ReLU has the derivative 0 where its result is 0", values(straight.dx)},
         {once_more, values(times(g.dx, n))}});
    const auto of = [](const Gradients& x) { return values(x.dw1, x.db1, x.dw2); };
    add("hidden units", "hidden", of(g),
        {"dw1 of all ranks", "db1 of all ranks", "dw2 of all ranks"},
        {{"a rank's hidden units see the rows of all ranks, so they need the x and the dy of all",
          of(own_rows)},
         {"ReLU has the derivative 0 where its result is 0", of(straight)},
         {once_more, values(times(g.dw1, n), times(g.db1, n), times(g.dw2, n))},
         {"each rank has hidden units of its own: their gradients are not to be added",
          values(summed(g.dw1), summed(g.db1), summed(g.dw2))}});
    Tensor of_rank_0 = Tensor::zeros(g.db2.shape());
    put(of_rank_0, 0, g.db2.rows(0, 1));
    add("b2", "db2", values(g.db2), {"db2 of all ranks"},
        {{"b2 is in the rows of all ranks, but this is the gradient from a rank's own",
          values(own_rows.db2)},
         {"only rank 0 has the gradient of b2, but every rank has b2 and all of its gradient",
          values(of_rank_0)},
         {"this is n times too large: a rank that has the dy of all rows has nothing to add",
          values(times(g.db2, n))}});
}

/// A random block with nothing so near ReLU's corner that finite differences step over it.
Block drawn(Cases& cases, Index n, Index rows, Index d, Index h) {
    while (true) {
        const Block block{cases.normal({n, rows, d}), cases.normal({n, h, d}), cases.normal({n, h}),
                          cases.normal({n, d, h}), cases.normal({d})};
        Real nearest = 1;
        for (Index r = 0; r < n; ++r)
            nearest = std::min(nearest, vector(before_relu(block, r)).cwiseAbs().minCoeff());
        if (nearest > Real(1e-3)) return block;
    }
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Block example{Tensor({2, 1, 1}, {1, 2}), Tensor({2, 1, 1}, {1, 3}), Tensor::zeros({2, 1}),
                        Tensor({2, 1, 1}, {1, 1}), Tensor::zeros({1})};
    add_forward(cases, example, "that of the statement");
    add_backward(cases, example, Tensor::full({2, 1, 1}, 1), "that of the statement");
    for (const Index n : {2, 3, 1, 4}) {
        const Index rows = cases.between(1, 3), d = cases.between(2, 5), h = cases.between(2, 4);
        const Block block = drawn(cases, n, rows, d, h);
        const std::string about =
            fmt::format("{} ranks, each with {} rows and {} hidden units, d = {}", n, rows, h, d);
        add_forward(cases, block, about);
        add_backward(cases, block, cases.normal(block.x.shape()), about);
    }
}
