#pragma once

#include <functional>

#include "chapters/14_on_many_machines/ranks/ranks.hpp"

namespace abh {
// [ring]
/// x becomes the sum of all ranks' x, by neighbors in a ring: each rank sends to the next one
/// only.
///
/// x is cut into as many parts as there are ranks. In size - 1 rounds a part grows on its way
/// around the ring, each rank adding its own numbers; in size - 1 more the sums go around. A rank
/// sends 2 (size - 1) / size of its elements. The order in which ranks are added differs from part
/// to part. Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of
/// workstations".
/// @param watch  called after each round with what x is then
void ring_all_reduce(Ranks& ranks, Tensor& x,
                     const std::function<void(Index round, const Tensor& x)>& watch = {});

}  // namespace abh
