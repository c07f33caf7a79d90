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
            const std::vector<Bucket> buckets = cut_into_buckets(parameters, ranks, bucket);
            std::vector<Index> next(3, 0);
            Index elements = 0;
            for (const Bucket& of : buckets) {
                for (Index r = 0; r < ranks; ++r) {
                    Index count = 0, blocks = 0;
                    for (const Piece& piece : of.slice(r)) {
                        CHECK(std::ranges::count(of.parameters, piece.parameter) == 1);
                        CHECK(piece.begin == next[piece.parameter]);
                        CHECK(piece.begin % block_size == 0);
                        CHECK(piece.end > piece.begin);
                        next[piece.parameter] = piece.end;
                        count += piece.count();
                        blocks += (piece.count() + block_size - 1) / block_size;
                    }
                    CHECK(count == of.count(r));
                    CHECK(std::ranges::count(of.owners, r) == blocks);
                    elements += count;
                }
                CHECK(of.start(0) == 0);
            }
            CHECK(next == std::vector<Index>{5, 15000, 9000});
            CHECK(elements == 5 + 15000 + 9000);
            CHECK(buckets.size() == (bucket == 100'000 ? 1u : 3u));
        }
}
