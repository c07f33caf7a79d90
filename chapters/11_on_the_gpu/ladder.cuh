#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [ladder]
/// How `a b` of `[m, k]` and `[k, n]` is computed. Each rung changes one thing.
enum class Rung {
    naive,         ///< a thread per result; neighboring threads are neighbors in a column
    coalesced,     ///< ... in a row
    shared,        ///< a block reads tiles of 16 x 16 once for all of its threads
    column,        ///< a thread computes 8 results in a column, so 8 share a number of `b`
    square,        ///< a thread computes 8 x 8 results
    wide,          ///< loads and stores of 16 bytes, for which `a` is turned in shared memory
    two_stages,    ///< the next tiles are copied while these are used
    tensor_cores,  ///< warps multiply on tensor cores, with factors rounded to TF32
};

struct RungName {
    Rung rung;
    const char *key, *name;
};
constexpr RungName rungs[] = {
    {Rung::naive, "naive", "naive"},
    {Rung::coalesced, "coalesced", "coalesced"},
    {Rung::shared, "shared", "tiles in shared memory"},
    {Rung::column, "column", "8 results per thread"},
    {Rung::square, "square", "8 x 8 results per thread"},
    {Rung::wide, "wide", "16 bytes at once"},
    {Rung::two_stages, "two_stages", "two stages"},
    {Rung::tensor_cores, "tensor_cores", "tensor cores"},
};

/// A product of whole tiles.
/// @throws std::invalid_argument if m, n or k is no multiple of what the rung's tiles take
Tensor product(const Tensor& a, const Tensor& b, Rung rung);

}  // namespace abh::cuda
