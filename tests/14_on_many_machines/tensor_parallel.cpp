// Per real and way: a feed-forward layer and the heads of an attention, cut over ranks, against
// the whole.
#include "chapters/14_on_many_machines/tensor_parallel/tensor_parallel.hpp"

#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "lib/eigen.hpp"
#include "tests/gradients.hpp"

using namespace abh;

namespace {

// `agree` allows 1e-12 in double precision and 1e-5 in single, relative to the largest element or
// absolute below 1: a result is a sum of at most 12 numbers of order one in each of up to four
// maps, and the cut changes the order of these sums, which moves the last digits only.
constexpr Index d_model = 8, d_ff = 12, n_heads = 4;
const Shape shape{2, 3, d_model};

Tensor x() {
    return random_tensor(shape, 31);
}
Tensor dy() {
    return random_tensor(shape, 32);
}

FeedForward feed_forward(bool bias, Activation activation = Activation::relu,
                         std::uint64_t seed = 33) {
    Random random(seed);
    return {d_model, d_ff, bias, random, activation};
}

MultiHeadAttention attention(bool bias_qkv, bool bias_out) {
    Random random(34);
    return {{.d_model = d_model,
             .n_heads = n_heads,
             .bias_qkv = bias_qkv,
             .bias_out = bias_out,
             .attention = {.scale = Real(0.3)}},
            random};
}

Tensor columns(const Tensor& matrix_, Index begin, Index end) {
    Tensor part({matrix_.dim(0), end - begin});
    matrix(part) = matrix(matrix_).middleCols(begin, end - begin);
    return part;
}

/// What rank `rank` of `n` should find as the gradients of a map whose outputs were cut.
void add_outputs(std::vector<Tensor>& list, Linear& whole, Index rank, Index n) {
    const Index count = whole.d_out() / n;
    list.push_back(whole.weight.grad().rows(rank * count, (rank + 1) * count));
    if (whole.has_bias()) list.push_back(whole.bias.grad().rows(rank * count, (rank + 1) * count));
}

/// The same where its inputs were cut.
void add_inputs(std::vector<Tensor>& list, Linear& whole, Index rank, Index n) {
    const Index count = whole.d_in() / n;
    list.push_back(columns(whole.weight.grad(), rank * count, (rank + 1) * count));
    if (whole.has_bias() && rank == 0) list.push_back(whole.bias.grad());
}

/// Result, dx and all gradients of the shard that each rank makes of the layer that `make` returns.
template <class Shard, class Make, class... Mask>
std::vector<std::vector<Tensor>> on_shards(Index n, const Make& make, const Tensor& input,
                                           const Tensor& gradient, const Mask&... mask) {
    return of_local_ranks(n, [&](Ranks& ranks) {
        Shard shard(make(), ranks);
        typename Shard::Cache cache;
        const Tensor y = shard.forward(input.clone(), mask..., &cache);
        const Tensor dx = shard.backward(gradient.clone(), cache);
        return with_gradients({y, dx}, shard);
    });
}

/// Result, dx and all gradients: what each rank should find.
std::vector<std::vector<Tensor>> expected(FeedForward whole, Index n) {
    FeedForward::Cache cache;
    const Tensor y = whole.forward(x(), &cache), dx = whole.backward(dy(), cache);
    std::vector<std::vector<Tensor>> all;
    for (Index rank = 0; rank < n; ++rank) {
        std::vector<Tensor>& list = all.emplace_back(std::vector{y, dx});
        add_outputs(list, whole.first, rank, n);
        add_inputs(list, whole.second, rank, n);
    }
    return all;
}

std::vector<std::vector<Tensor>> expected(MultiHeadAttention whole, const Tensor& input,
                                          const Tensor& gradient, const AttentionMask& mask,
                                          Index n) {
    MultiHeadAttention::Cache cache;
    const Tensor y = whole.forward(input, input, input, mask, &cache);
    const auto [dquery, dkey, dvalue] = whole.backward(gradient, cache);
    std::vector<std::vector<Tensor>> all;
    for (Index rank = 0; rank < n; ++rank) {
        std::vector<Tensor>& list = all.emplace_back(std::vector{y, dquery + dkey + dvalue});
        for (Linear* map : {&whole.w_q, &whole.w_k, &whole.w_v}) add_outputs(list, *map, rank, n);
        add_inputs(list, whole.w_o, rank, n);
    }
    return all;
}

void check_all(const std::vector<std::vector<Tensor>>& wanted,
               const std::vector<std::vector<Tensor>>& found) {
    REQUIRE(found.size() == wanted.size());
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
        REQUIRE(found[rank].size() == wanted[rank].size());
        for (std::size_t i = 0; i < found[rank].size(); ++i) {
            INFO("rank " << rank << " of " << found.size() << ", tensor " << i);
            CHECK(agree(wanted[rank][i], found[rank][i]));
            if (i < 2) CHECK(same_bits(found[rank][i], found[0][i]));  // result and dx
        }
    }
}

/// The numbers of the page: 2 wide, with four hidden numbers.
FeedForward by_hand() {
    Random random(1);
    FeedForward whole(2, 4, true, random);
    whole.first.weight.assign(Tensor({4, 2}, {1, 0, 1, -1, -1, 1, 0, 2}));
    whole.first.bias.assign(Tensor({4}, {0, 1, 0, -1}));
    whole.second.weight.assign(Tensor({2, 4}, {1, 1, 2, 1, 1, -1, 1, 3}));
    whole.second.bias.assign(Tensor({2}, {0, 1}));
    return whole;
}

}  // namespace

TEST_CASE("a row on two ranks by hand, forward and backward") {
    const Tensor row({1, 1, 2}, {2, 1}), gradient({1, 1, 2}, {3, 1});
    const auto found = of_local_ranks(2, [&](Ranks& ranks) {
        FeedForwardShard shard(by_hand(), ranks);
        FeedForward::Cache cache;
        const Tensor summand = shard.part.forward(row, &cache);
        const Tensor dsummand = shard.part.backward(gradient, cache);
        zero_grad(parameters_of(shard));
        const Tensor y = shard.forward(row, &cache), dx = shard.backward(gradient, cache);
        return with_gradients({summand, dsummand, y, dx}, shard);
    });
    const auto is = [](const Tensor& tensor, std::initializer_list<Real> numbers) {
        CHECK(same_bits(tensor + Tensor::zeros(tensor.shape()), Tensor(tensor.shape(), numbers)));
    };
    is(found[0][0], {4, 1});
    is(found[1][0], {1, 3});
    is(found[0][1], {6, -2});
    is(found[1][1], {0, 12});
    for (const auto& rank : found) {
        is(rank[2], {5, 4});
        is(rank[3], {6, 10});
    }
    is(found[0][4], {8, 4, 4, 2});  // first map: weight, bias
    is(found[0][5], {4, 2});
    is(found[1][4], {0, 0, 12, 6});
    is(found[1][5], {0, 6});
    is(found[0][6], {6, 6, 2, 2});  // second map: weight, bias
    is(found[0][7], {3, 1});
    is(found[1][6], {0, 3, 0, 1});
    CHECK(found[1].size() == 7);  // no second bias on rank 1
}

TEST_CASE("the relu of a sum is not the sum of relus: the first map is not cut by its inputs") {
    const Linear first = by_hand().first;
    const Tensor row({2}, {2, 1});
    Tensor sum = Tensor::zeros({1, 4}), sum_of_relus = Tensor::zeros({1, 4});
    for (Index rank = 0; rank < 2; ++rank) {
        Tensor part({1, 4});  // what one input adds; the bias goes to rank 0
        for (Index h = 0; h < 4; ++h)
            part(0, h) = row(rank) * first.weight.value(h, rank) +
                         (rank == 0 ? first.bias.value(h) : Real(0));
        sum += part;
        sum_of_relus += relu(part);
    }
    CHECK(same_bits(relu(sum), Tensor({1, 4}, {2, 2, 0, 1})));
    CHECK(same_bits(sum_of_relus, Tensor({1, 4}, {2, 3, 1, 2})));
}

TEST_CASE("a feed-forward layer on several ranks is the whole layer, gradients included") {
    for (const Index n : {1, 2, 4})
        for (const bool bias : {false, true})
            for (const Activation activation : {Activation::relu, Activation::swish}) {
                const auto make = [&] { return feed_forward(bias, activation); };
                check_all(expected(make(), n), on_shards<FeedForwardShard>(n, make, x(), dy()));
            }
}

TEST_CASE("self-attention whose heads are on several ranks is the whole layer, masks included") {
    const Ids ids({2, 3}, {1, 1, 0, 1, 0, 0});
    const Mask any({2, 3, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0});
    const Packing rows = leave_out_pads(ids);
    AttentionMask packed = hide_future();
    packed.queries = packed.keys = rows;
    for (const AttentionMask& mask : {AttentionMask(), hide_future(),
                                      hide_pads(ids) | hide_future(), AttentionMask(any), packed})
        for (const bool bias_qkv : {false, true})
            for (const bool bias_out : {false, true})
                for (const Index n : {1, 2, 4}) {
                    const Shape of = mask.packed() ? Shape{1, rows.rows(), d_model} : shape;
                    const Tensor input = random_tensor(of, 31), gradient = random_tensor(of, 32);
                    const auto make = [&] { return attention(bias_qkv, bias_out); };
                    check_all(expected(make(), input, gradient, mask, n),
                              on_shards<SelfAttentionShard>(n, make, input, gradient, mask));
                }
}

TEST_CASE("without the sum of dx a layer's own gradients are right, those of the layer below not") {
    FeedForward lower = feed_forward(true), upper = feed_forward(true, Activation::relu, 35);
    FeedForward::Cache of_lower, of_upper;
    upper.forward(lower.forward(x(), &of_lower), &of_upper);
    lower.backward(upper.backward(dy(), of_upper), of_lower);
    for (const bool with_sum : {true, false}) {
        const auto found = of_local_ranks(2, [&](Ranks& ranks) {
            FeedForwardShard below(feed_forward(true), ranks),
                above(feed_forward(true, Activation::relu, 35), ranks);
            FeedForward::Cache of_below, of_above;
            above.forward(below.forward(x(), &of_below), &of_above);
            below.backward(
                with_sum ? above.backward(dy(), of_above) : above.part.backward(dy(), of_above),
                of_below);
            return std::vector{above.part.first.weight.grad(), below.part.first.weight.grad()};
        });
        for (Index rank = 0; rank < 2; ++rank) {
            const auto own = [&](Linear& map) {
                return map.weight.grad().rows(rank * d_ff / 2, (rank + 1) * d_ff / 2);
            };
            const auto& gradients = found[static_cast<std::size_t>(rank)];
            CHECK(agree(own(upper.first), gradients[0]));
            CHECK(agree(own(lower.first), gradients[1]) == with_sum);
            CHECK(agree(own(lower.first), gradients[1], 1e-2) == with_sum);
        }
    }
}

TEST_CASE("summing dy over ranks as well multiplies every gradient by their number") {
    const auto whole = expected(feed_forward(true), 2);
    const auto found = of_local_ranks(2, [](Ranks& ranks) {
        FeedForwardShard shard(feed_forward(true), ranks);
        FeedForward::Cache cache;
        const Tensor y = shard.forward(x(), &cache);
        Tensor sum = dy();
        ranks.all_reduce(sum);
        const Tensor dx = shard.backward(sum, cache);
        return with_gradients({y, dx}, shard);
    });
    for (std::size_t rank = 0; rank < 2; ++rank)
        for (std::size_t i = 1; i < found[rank].size(); ++i) {
            Tensor twice = whole[rank][i].clone();
            twice *= 2;
            CHECK(agree(twice, found[rank][i]));
            CHECK_FALSE(agree(whole[rank][i], found[rank][i], 1e-2));
        }
}

TEST_CASE("a shard is a copy: the whole layer does not change with it") {
    const FeedForward whole = feed_forward(true);
    const Tensor before = whole.first.weight.value.clone(), bias = whole.second.bias.value.clone();
    run_local_ranks(1, [&](Ranks& ranks) {
        FeedForwardShard shard(whole, ranks);
        for (const NamedParameter& p : parameters_of(shard)) p.parameter->value.fill(7);
    });
    CHECK(same_bits(whole.first.weight.value, before));
    CHECK(same_bits(whole.second.bias.value, bias));
}

TEST_CASE("attention and feed-forward send two all-reduces of B L d_model forward, two backward") {
    for (const Index n : {1, 2, 4}) {
        const auto sent = of_local_ranks(n, [](Ranks& ranks) {
            SelfAttentionShard heads(attention(true, true), ranks);
            FeedForwardShard ff(feed_forward(true), ranks);
            SelfAttentionShard::Cache of_heads;
            FeedForward::Cache of_ff;
            std::vector<Index> bytes{ranks.traffic().bytes};
            ranks.barrier();
            bytes.push_back(ranks.traffic().bytes);
            ff.forward(heads.forward(x(), {}, &of_heads), &of_ff);
            bytes.push_back(ranks.traffic().bytes);
            heads.backward(ff.backward(dy(), of_ff), of_heads);
            bytes.push_back(ranks.traffic().bytes);
            return bytes;
        });
        for (const auto& bytes : sent) {
            // an all-reduce compares calls three times: its own, and those that it consists of;
            // alone it is over after the first
            const Index meetings = 3 * (bytes[1] - bytes[0]);
            const Index all_reduce = 2 * (n - 1) * shape.size() / n * Index{sizeof(Real)};
            CHECK(bytes[2] - bytes[1] == 2 * (all_reduce + meetings));
            CHECK(bytes[3] - bytes[2] == 2 * (all_reduce + meetings));
        }
    }
}

TEST_CASE("what cannot be cut is refused with its numbers") {
    CHECK_THROWS_WITH(
        of_local_ranks(
            5,
            [](Ranks& ranks) { return FeedForwardShard(feed_forward(true), ranks).forward(x()); }),
        Contains("d_ff 12 is not divisible by 5 ranks"));
    const auto self_attention = [](const MultiHeadOptions& options, const AttentionMask& mask) {
        return [options, mask](Ranks& ranks) {
            Random random(1);
            SelfAttentionShard shard(MultiHeadAttention(options, random), ranks);
            return shard.forward(x(), mask);
        };
    };
    // 8 columns in two halves would cut heads in pieces
    CHECK_THROWS_WITH(of_local_ranks(2, self_attention({.d_model = 8, .n_heads = 1}, {})),
                      Contains("n_heads 1 is not divisible by 2 ranks"));
    CHECK_THROWS_WITH(
        of_local_ranks(
            2, self_attention({.d_model = 8, .n_heads = 4, .shared_head_projections = true}, {})),
        Contains("4 heads share one projection"));
    const Mask for_each_head = Mask::zeros({1, n_heads, 3, 3});
    CHECK_THROWS_AS(
        of_local_ranks(2, self_attention({.d_model = d_model, .n_heads = n_heads}, for_each_head)),
        std::invalid_argument);
    CHECK_THROWS_WITH(of_local_ranks(2,
                                     [](Ranks& ranks) {
                                         return FeedForwardShard(feed_forward(true), ranks)
                                             .forward(Tensor::zeros({1, 2, 7}));
                                     }),
                      Contains("[1, 2, 7]"));
}
