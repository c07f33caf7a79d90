// Per way: which rank updates which elements.
#include "chapters/14_on_many_machines/data_parallel/partition.hpp"

#include <algorithm>
#include <vector>

#include "tests/catch.hpp"

using namespace abh;

TEST_CASE("slices of the parameters cover each element once, cut between blocks") {
    Parameter small_one(Tensor::zeros({5})), large(Tensor::zeros({3, 5000})),
        other(Tensor::zeros({9000}));
    const Parameters parameters{{"a", &small_one}, {"b", &large}, {"c", &other}};
    for (const Index bucket : {1, 9000, 100'000})
        for (const Index ranks : {1, 2, 3, 4, 9, 40}) {
            const Partition partition(parameters, ranks, bucket);
            std::vector<Index> next(3, 0), owned(static_cast<std::size_t>(ranks));
            Index elements = 0, blocks = 0;
            for (const Bucket& of : partition.buckets()) {
                for (Index r = 0; r < ranks; ++r) {
                    Index count = 0;
                    for (const Piece& piece : of.slices[static_cast<std::size_t>(r)]) {
                        CHECK(std::ranges::count(of.parameters, piece.parameter) == 1);
                        CHECK(piece.begin == next[piece.parameter]);
                        CHECK(piece.begin % Partition::block == 0);
                        CHECK(piece.end > piece.begin);
                        next[piece.parameter] = piece.end;
                        count += piece.count();
                        const Index some =
                            (piece.count() + Partition::block - 1) / Partition::block;
                        blocks += some;
                        owned[static_cast<std::size_t>(r)] += some;
                    }
                    CHECK(count == of.count(r));
                    elements += count;
                }
                CHECK(of.start(0) == 0);
            }
            CHECK(next == std::vector<Index>{5, 15000, 9000});
            CHECK(elements == 5 + 15000 + 9000);
            CHECK(partition.buckets().size() == (bucket == 100'000 ? 1u : 3u));
            CHECK(static_cast<Index>(partition.owners().size()) == blocks);
            for (Index r = 0; r < ranks; ++r)
                CHECK(std::ranges::count(partition.owners(), r) ==
                      owned[static_cast<std::size_t>(r)]);
        }
}
