#include "chapters/12_where_the_time_goes/works.hpp"

namespace abh {
// [steps]
Step toy_step() {
    return {"toy", "toy, 2 x 8 and 7 words", TransformerOptions::toy(), 2, 8,
            7,     OptimizerKind::momentum};
}

Step small_step() {
    TransformerOptions o = TransformerOptions::article();
    o.src_words = o.tgt_words = 2000;
    o.layer.attention.d_model = 256;
    o.layer.attention.n_heads = 4;
    o.layer.d_ff = 1024;
    o.n_encoder_layers = o.n_decoder_layers = 2;
    return {"small", "small, 16 x 24 words", o, 16, 24, 24};
}

Step base_step() {
    TransformerOptions o = TransformerOptions::article();
    o.src_words = o.tgt_words = 8000;
    return {"base", "base, 32 x 24 words", o, 32, 24, 24};
}

Batch random_batch(const TransformerOptions& options, Index sentences, Index src_length,
                   Index tgt_length, std::uint64_t seed) {
    Random random(seed);
    const auto ids = [&](Index length, Index n) {
        return random_ids({sentences, length}, 1, static_cast<std::int32_t>(n), random.stream());
    };
    const Ids source = ids(src_length, options.src_words),
              target_in = ids(tgt_length, options.tgt_words);
    return make_batch(source, target_in, ids(tgt_length, options.tgt_words));
}

}  // namespace abh
