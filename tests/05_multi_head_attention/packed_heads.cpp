// Per real and way: attention of all heads on packed sentences.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "lib/device.hpp"
#include "tests/05_multi_head_attention/example.hpp"
#include "tests/gradients.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

/// Sentence `b` of packed `[1, rows, n]`, `[1, L, n]`; shares memory.
Tensor sentence(const Tensor& x, const Packing& p, Index b) {
    return x.reshape({p.rows(), x.dim(2)})
        .rows(p.begin(b), p.begin(b + 1))
        .reshape({1, p.count(b), x.dim(2)});
}

/// Packed sentences of these queries and keys.
struct PackedExample {
    Ids ids;  ///< of the keys
    Packing queries, keys;
    Example e;

    PackedExample(const Ids& q_ids, const Ids& k_ids, Index n_heads, Index d_k)
        : ids(k_ids),
          queries(leave_out_pads(q_ids)),
          keys(leave_out_pads(k_ids)),
          e(1, n_heads, queries.rows(), keys.rows(), d_k) {}

    AttentionMask with(AttentionMask mask) const {
        mask.queries = queries;
        mask.keys = keys;
        return mask;
    }
    /// Each sentence on its own, not packed, its rows put where they belong.
    All one_by_one(bool pads, bool causal) const {
        All all{Tensor(e.q.shape()), Tensor(e.q.shape()), Tensor(e.k.shape()), Tensor(e.k.shape())};
        for (Index b = 0; b < queries.sentences(); ++b) {
            Example own = e;
            own.q = sentence(e.q, queries, b).clone();
            own.dy = sentence(e.dy, queries, b).clone();
            own.k = sentence(e.k, keys, b).clone();
            own.v = sentence(e.v, keys, b).clone();
            AttentionMask mask = causal ? hide_future() : AttentionMask();
            const Ids row = ids.rows(b, b + 1).reshape({ids.dim(1)}).rows(0, keys.count(b));
            if (pads) mask = mask | hide_pads(row.reshape({1, keys.count(b)}));
            const All found = own.run(mask);
            for (std::size_t i = 0; i < all.size(); ++i) {
                Tensor part = sentence(all[i], i < 2 ? queries : keys, b);
                std::copy(found[i].values().begin(), found[i].values().end(), part.data());
            }
        }
        return all;
    }
};

}  // namespace

TEST_CASE("packed sentences attend one by one in every way, backward too") {
    struct Kind {
        Ids queries, keys;
        Index n_heads, d_k;
    };
    Ids holes = words({5, 9, 1, 3});  // pads within a sentence
    holes(1, 2) = holes(1, 4) = 0;
    Ids long_holes = words({210, 1, 101});
    long_holes(0, 1) = long_holes(2, 1) = long_holes(2, 50) = 0;
    const std::vector<Kind> kinds{{words({2, 7, 1, 3}), words({15, 1, 1, 8}, 16), 2, 3},
                                  {words({5, 9, 1, 3}), holes, 3, 5},
                                  {long_holes, long_holes, 2, 5},
                                  {words({150, 1, 49, 33}), words({159, 64, 1, 130}), 1, 16},
                                  {words({1}), words({1}), 2, 1},
                                  {words({3, 2}), words({4, 3}), 1, 130},
                                  {words({3, 4}, 4), words({2, 1}, 6), 2, 64}};
    for (const auto& [queries, keys, n_heads, d_k] : kinds) {
        const PackedExample p(queries, keys, n_heads, d_k);
        for (bool pads : {false, true})
            for (bool causal : {false, true}) {
                CAPTURE(to_string(queries.shape()), to_string(keys.shape()), d_k, pads, causal);
                AttentionMask mask = pads ? hide_pads(keys) : AttentionMask();
                mask.causal = causal;
                p.e.compare(p.with(mask));
                if (pads && causal && !on_cuda())
                    same_for_threads([&] { return p.e.run(p.with(mask)); });
                // on a device, tiles are of other sizes where no sentence is long
                check_agree(p.one_by_one(pads, causal), p.e.run(p.with(mask)));
            }
    }
}

TEST_CASE("a packing may leave out nothing of the queries and something of the keys") {
    const PackedExample p(words({3}), words({2}, 4), 2, 3);
    check_agree(p.e.run({}), p.e.run(p.with(hide_pads(words({2}, 4)))));
}

TEST_CASE("packed attention refuses what would let a sentence see another") {
    const Packing p = leave_out_pads(Ids({2, 3}, {1, 1, 0, 1, 1, 1}));
    const Tensor x = random_tensor({1, 5, 6}), y = random_tensor({2, 3, 6});
    const std::string message =
        "attention: only the queries or only the keys are packed, expected both or neither";
    AttentionMask mask;
    mask.queries = p;
    CHECK_THROWS_WITH(attend_heads(x, y, y, 2, mask), message);
    mask.queries = {};
    mask.keys = p;
    CHECK_THROWS_WITH(attend_heads(y, x, x, 2, mask), message);
    mask.queries = p;
    CHECK_THROWS_WITH(
        attend_heads(y, y, y, 2, mask),
        "attention: x has shape [2, 3, 6], expected [1, 5, d_model] for packed sentences");
    Tensor weights;
    CHECK_THROWS_WITH(attend_heads(x, x, x, 2, mask, {}, nullptr, &weights),
                      "attention: weights are not available for packed sentences");
    CHECK_THROWS_WITH(
        attend_heads(x, x, x, 2, mask, {.fill = -5}),
        "attention: fill -5 does not separate packed sentences, expected at most -10000");
    CHECK_NOTHROW(attend_heads(x, x, x, 2, mask, {.fill = -std::numeric_limits<Real>::infinity()}));
}

TEST_CASE("the gradients of packed attention match central differences") {
    const Ids q_ids({2, 3}, {1, 1, 0, 1, 1, 1}), k_ids({2, 4}, {1, 0, 1, 0, 1, 0, 0, 0});
    const PackedExample p(q_ids, k_ids, 2, 3);
    p.e.differences(p.with(hide_pads(k_ids)));
    const PackedExample self(q_ids, q_ids, 2, 3);
    self.e.differences(self.with(hide_future()));
}
