#pragma once

#include <functional>

#include "chapters/14_on_many_machines/ranks/ranks.hpp"

namespace abh {
// [ring]
/// x becomes the sum of all ranks' x, around a ring: each rank sends only to the next one.
///
/// x is cut into as many parts as there are ranks. For size - 1 rounds, each part travels around
/// the ring while the ranks add their own numbers to it; in size - 1 more rounds, the sums go
/// around. A rank sends 2 (size - 1) / size times as many elements as x has. The order in which
/// ranks are added differs from part to part. Patarasuk and Yuan 2009, "Bandwidth optimal
/// all-reduce algorithms for clusters of workstations".
/// @param watch  is called after each round with the current x
void ring_all_reduce(Ranks& ranks, Tensor& x,
                     const std::function<void(Index round, const Tensor& x)>& watch = {});

}  // namespace abh
