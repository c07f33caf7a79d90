#include "chapters/12_where_the_time_goes/floor.hpp"

namespace abh {
// [linear maps]
std::vector<LinearMaps> linear_maps(const TransformerOptions& o, Index src_rows, Index tgt_rows) {
    const MultiHeadOptions& a = o.layer.attention;
    const Index d = a.d_model, d_ff = o.layer.d_ff;
    // a small map that all heads share sees each row once per head
    const Index width = a.shared_head_projections ? d / a.n_heads : d, slices = d / width;
    std::vector<LinearMaps> list;
    const auto attention = [&](Index times, Index query_rows, Index key_rows) {
        list.push_back({times, width, width, a.bias_qkv, slices * query_rows});
        list.push_back({2 * times, width, width, a.bias_qkv, slices * key_rows});  // keys, values
        list.push_back({times, d, d, a.bias_out, query_rows});
    };
    const auto feed_forward = [&](Index times, Index rows) {
        list.push_back({times, d, d_ff, o.layer.ff_bias, rows});
        list.push_back({times, d_ff, d, o.layer.ff_bias, rows});
    };
    attention(o.n_encoder_layers, src_rows, src_rows);
    feed_forward(o.n_encoder_layers, src_rows);
    attention(o.n_decoder_layers, tgt_rows, tgt_rows);
    attention(o.n_decoder_layers, tgt_rows, src_rows);
    feed_forward(o.n_decoder_layers, tgt_rows);
    list.push_back({1, d, o.tgt_words, o.output_bias, tgt_rows});
    return list;
}

Index count_parameters(const TransformerOptions& o) {
    const Index d = o.layer.attention.d_model;
    Index count = (o.src_words + o.tgt_words) * d;
    for (const LinearMaps& m : linear_maps(o, 0, 0))
        count += m.weights() + (m.bias ? m.times * m.d_out : 0);
    if (o.positions.kind == Positions::learned) count += 2 * o.positions.max_len * d;
    const bool pre = o.layer.add_norm.placement == NormPlacement::pre;
    const Index norms = 2 * o.n_encoder_layers + 3 * o.n_decoder_layers + (pre ? 2 : 0);
    return count + (o.layer.add_norm.norm.affine ? 2 * norms * d : 0);
}
// [floor]
namespace {

constexpr double real = sizeof(Real);

double multiply_adds(const std::vector<LinearMaps>& maps) {
    Index sum = 0;
    for (const LinearMaps& m : maps) sum += m.multiply_adds();
    return static_cast<double>(sum);
}

/// The number of weights in the maps that see any row.
double matrices(const std::vector<LinearMaps>& maps) {
    Index sum = 0;
    for (const LinearMaps& m : maps) sum += m.n_rows > 0 ? m.weights() : 0;
    return static_cast<double>(sum);
}

/// Multiply-adds of attention's products: each query with each key, each weight with each value.
double attention(const TransformerOptions& o, Index queries, Index keys) {
    return static_cast<double>(2 * queries * keys * o.layer.attention.d_model);
}

double attention_forward(const TransformerOptions& o, Index sentences, Index src, Index tgt) {
    return static_cast<double>(sentences) *
           (static_cast<double>(o.n_encoder_layers) * attention(o, src, src) +
            static_cast<double>(o.n_decoder_layers) *
                (attention(o, tgt, tgt) + attention(o, tgt, src)));
}

/// Bytes of the weights and of the optimizer's numbers, read and written.
double update(const TransformerOptions& o, OptimizerKind kind) {
    const double numbers = kind == OptimizerKind::adam ? 3 : 2;
    return real * 2 * numbers * static_cast<double>(count_parameters(o));
}

}  // namespace

// forward:   y = x W^T, and two products in attention
// backward:  dx = dy W, dW = dy^T x, and four products in attention: twice as many
Floor training_floor(const TransformerOptions& o, Index sentences, Index src_words, Index tgt_words,
                     OptimizerKind kind) {
    const auto maps = linear_maps(o, sentences * src_words, sentences * tgt_words);
    const double forward =
        multiply_adds(maps) + attention_forward(o, sentences, src_words, tgt_words);
    return {3 * forward, real * matrices(maps), update(o, kind)};
}

Floor decoding_floor(const TransformerOptions& o, Index sentences, Index src_words, Index words) {
    const auto once = linear_maps(o, sentences * src_words, 0);
    const auto each = linear_maps(o, 0, sentences);
    const double n = static_cast<double>(words);
    double products = multiply_adds(once) + n * multiply_adds(each) +
                      attention_forward(o, sentences, src_words, 0);
    for (Index t = 1; t <= words; ++t)
        products +=
            static_cast<double>(sentences * o.n_decoder_layers) * attention(o, 1, t + src_words);
    return {.multiply_adds = products,
            .bytes_read = real * (matrices(once) + n * matrices(each)),
            .bytes_again = real * (n - 1) * matrices(each),
            .again = n - 1};
}

}  // namespace abh
