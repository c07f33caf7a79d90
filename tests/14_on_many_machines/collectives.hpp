#pragma once

// All collectives on ranks of this process, over an engine that a test chooses.
#include <memory>
#include <string>
#include <vector>

#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "chapters/14_on_many_machines/ring.hpp"
#include "tests/support.hpp"

/// Starts to exchange these bytes with the other of two ranks.
inline std::unique_ptr<abh::Transfer> exchange(abh::Engine& engine, const char* what,
                                               abh::Message sent, abh::Room room) {
    const auto other = static_cast<std::size_t>(1 - engine.rank());
    std::vector<abh::Message> to(2);
    std::vector<abh::Room> from(2);
    to[other] = sent;
    from[other] = room;
    return engine.exchange(what, to, from);
}

/// What the collectives give on a rank, and what it has sent for them.
struct Collectives {
    std::vector<abh::Tensor> tensors;
    std::vector<std::string> texts;
    abh::Traffic traffic;
};

inline Collectives all_collectives(abh::Ranks& ranks) {
    Collectives results;
    const auto numbers = [&](const abh::Shape& shape) {
        return random_tensor(shape, static_cast<std::uint64_t>(ranks.rank()) + 5);
    };
    for (const abh::Shape& shape : {abh::Shape{1}, {3, 5}, {0}, {12}}) {
        abh::Tensor x = numbers(shape), y = numbers(shape), z = numbers(shape);
        ranks.all_reduce(x);
        ranks.broadcast(y, ranks.size() - 1);
        abh::ring_all_reduce(ranks, z);
        results.tensors.insert(results.tensors.end(), {x, y, z, ranks.all_gather(x)});
    }
    results.tensors.push_back(ranks.reduce_scatter(numbers({2 * ranks.size(), 3})));
    ranks.barrier();
    results.texts = ranks.all_gather(std::string(static_cast<std::size_t>(ranks.rank()), 'a'));
    results.traffic = ranks.traffic();
    return results;
}

/// On each of `n` ranks, over the engine that `wrap` makes of a local one.
template <class F>
std::vector<Collectives> collectives_of(abh::Index n, const F& wrap) {
    std::vector<Collectives> results(static_cast<std::size_t>(n));
    abh::run_local_engines(n, [&](std::unique_ptr<abh::Engine> engine) {
        abh::Ranks ranks(wrap(std::move(engine)));
        results[static_cast<std::size_t>(ranks.rank())] = all_collectives(ranks);
    });
    return results;
}

inline void require_same(const std::vector<Collectives>& a, const std::vector<Collectives>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t r = 0; r < a.size(); ++r) {
        check_same_bits(a[r].tensors, b[r].tensors);
        CHECK(a[r].texts == b[r].texts);
        CHECK(a[r].traffic.messages == b[r].traffic.messages);
        CHECK(a[r].traffic.bytes == b[r].traffic.bytes);
    }
}
