#include <functional>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/08_decoder/decoder.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
using Rows = std::function<Tensor(const Ids& target)>;
Tensor rows_of(const Ids& target, std::int32_t start, const Tensor& memory, const Ids& source,
               const Embedding& words_of, const Decoder& decoder);
bool accepts(const Rows& rows, Index n_words);
}  // namespace abh::mine

using namespace abh;

namespace {

constexpr Index d_model = 4;

struct Parts {
    Embedding words_of;
    Decoder decoder;

    Parts(Index n_words, Index n_layers, Random random)
        : words_of(n_words, d_model, {}, random), decoder(options(), n_layers, random) {}

    static LayerOptions options() {
        LayerOptions o;
        o.attention.d_model = d_model;
        o.attention.n_heads = 2;
        o.d_ff = 5;
        return o;
    }
};

Tensor rows_of(const Ids& target, const Tensor& memory, const Ids& source, Index n_words,
               Index n_layers, Index seed) {
    const Parts parts(n_words, n_layers, Random(static_cast<std::uint64_t>(seed)));
    return mine::rows_of(target, static_cast<std::int32_t>(n_words - 1), memory, source,
                         parts.words_of, parts.decoder);
}

/// The input for a target, which is shifted to the right by `shift`.
Ids shifted(const Ids& target, Index shift, std::int32_t start) {
    Ids input(target.shape());
    for (Index b = 0; b < target.dim(0); ++b)
        for (Index t = 0; t < target.dim(1); ++t)
            input(b, t) = t < shift || t - shift >= target.dim(1) ? start : target(b, t - shift);
    return input;
}

/// With this mask and the shift, row t sees only word t - 1 of the target.
AttentionMask own_word_alone(Index length) {
    Mask mask({1, 1, length, length});
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) mask(0, 0, i, j) = i != j;
    AttentionMask result;
    result.extra = mask;
    return result;
}

/// Hides the future one word too late: row t sees the input up to word t + 1.
AttentionMask one_word_too_many(Index length) {
    Mask mask({1, 1, length, length});
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) mask(0, 0, i, j) = j > i + 1;
    AttentionMask result;
    result.extra = mask;
    return result;
}

bool accepts(const std::string& what, Index n_words, Index seed) {
    const Parts parts(n_words + 1, 1, Random(static_cast<std::uint64_t>(seed)));
    Random random(static_cast<std::uint64_t>(seed) + 1);
    const Tensor memory = normal({1, 3, d_model}, random.stream());
    const Ids source({1, 3}, {1, 2, 3});
    const auto start = static_cast<std::int32_t>(n_words);
    const auto decode = [&](const Ids& input, const AttentionMask& mask) {
        return parts.decoder.forward(parts.words_of.forward(input), memory, mask, {});
    };
    const mine::Rows rows = [&](const Ids& target) {
        const Index length = target.dim(1);
        if (what == "right") return decode(shifted(target, 1, start), hide_future());
        if (what == "no look-ahead mask") return decode(shifted(target, 1, start), {});
        if (what == "no shift") return decode(target, hide_future());
        if (what == "no shift and no look-ahead mask") return decode(target, {});
        if (what == "a look-ahead mask that begins one place too late")
            return decode(shifted(target, 1, start), one_word_too_many(length));
        if (what == "a shift by two") return decode(shifted(target, 2, start), hide_future());
        if (what == "each row sees its own word alone")
            return decode(shifted(target, 1, start), own_word_alone(length));
        return mine::rows_of(target, start, memory, source, parts.words_of, parts.decoder);
    };
    return mine::accepts(rows, n_words);
}

}  // namespace

int main() {
    return judge::serve(
        {{"rows_of", judge::function(rows_of)}, {"accepts", judge::function(accepts)}});
}
