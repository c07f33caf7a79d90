// Per way: decoding on the device: what moves between the memories.
#include <array>

#include "chapters/09_training/loss/argmax.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "tests/decoding.hpp"
#include "tests/devices.hpp"
#include "tests/sentences.hpp"

using namespace abh;

TEST_CASE("a word of decoding sends the words before it, and brings back choices", "[cuda]") {
    const ScopedWay device(Way::cuda);
    TransformerOptions options = small_toy();
    options.positions.max_len = 40;
    options.mask_target_pads = false;  // whatever is said, no pad is noted
    const Transformer model = random_model(options, 2);
    greedy_decode_cached(model, padded_batch(), {start, no_end, 2});  // the weights go over
    const auto cost = [&](Index words, bool with_cache) {
        const Transfers before = transfers();
        if (with_cache)
            greedy_decode_cached(model, padded_batch(), {start, no_end, words});
        else
            greedy_decode(model, Ids({1, 3}, {1, 2, 3}), {start, no_end, words});
        const Transfers after = transfers();
        return std::array{after.to_device - before.to_device, after.to_host - before.to_host,
                          after.bytes_to_device - before.bytes_to_device,
                          after.bytes_to_host - before.bytes_to_host};
    };
    const auto few = cost(10, true), many = cost(36, true);  // the room is doubled twice
    CHECK(many[0] - few[0] == 26 + 2);                       // words; masks of the larger rooms
    CHECK(many[1] - few[1] == 26);
    CHECK(many[2] - few[2] == 26 * 5 * 4 + 5 * (32 + 64));
    CHECK(many[3] - few[3] == 26 * 5 * static_cast<std::int64_t>(sizeof(Prediction)));

    const auto short_one = cost(3, false), long_one = cost(9, false);
    CHECK(long_one[0] - short_one[0] == 6);  // the prefix
    CHECK(long_one[1] - short_one[1] == 6);
}
