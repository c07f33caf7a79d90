#include "judge/answer/cases.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "chapters/12_where_the_time_goes/works.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

constexpr double single = 4;

/// How many numbers of keys and values one sentence's words read, in all layers.
double numbers_read(const TransformerOptions& o, Index source, Index words) {
    double count = 0;
    for (Index t = 1; t <= words; ++t)
        count +=
            static_cast<double>(o.n_decoder_layers * 2 * (t + source) * o.layer.attention.d_model);
    return count;
}

/// The same from chapter 12's count of multiply-adds, because each number is used in exactly one.
double numbers_by_products(const TransformerOptions& o, Index source, Index words) {
    const auto products = [&](const TransformerOptions& options) {
        return decoding_floor(options, 1, source, words).multiply_adds;
    };
    double maps = 0;
    for (const LinearMaps& m : linear_maps(o, source, 0))
        maps += static_cast<double>(m.multiply_adds());
    for (const LinearMaps& m : linear_maps(o, 0, 1))
        maps += static_cast<double>(words * m.multiply_adds());
    const double encoder =
        static_cast<double>(o.n_encoder_layers * 2 * source * source * o.layer.attention.d_model);
    return products(o) - maps - encoder;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const TransformerOptions base = base_step().options;
    const Index B = cases.between(2, 40), source = cases.between(12, 60),
                words = cases.between(12, 60);
    const auto ask = [&](const char* line, double number,
                         const std::vector<std::pair<const char*, double>>& wrong) {
        Case c{.criterion = line,
               .call = line,
               .arguments = values(B, source, words),
               .results = values(static_cast<Real>(number)),
               .names = {"B", "L_s", "L_t"}};
        for (const auto& [says, instead] : wrong)
            c.mistakes.push_back({says, values(static_cast<Real>(instead))});
        cases.add(c);
    };
    const double numbers = numbers_read(base, source, words), b = static_cast<double>(B),
                 d = static_cast<double>(base.layer.attention.d_model),
                 layers = static_cast<double>(base.n_decoder_layers),
                 L_s = static_cast<double>(source), L_t = static_cast<double>(words),
                 heads = static_cast<double>(base.layer.attention.n_heads);
    if (numbers != numbers_by_products(base, source, words))
        throw std::logic_error(
            "chapter 12's count of products disagrees with the count of numbers read");
    const double bytes = b * single * numbers;
    ask("bytes", bytes,
        {{"the source's keys and values are read again for each word",
          b * single * layers * 2 * d * (L_t * (L_t + 1) / 2 + L_s)},
         {"a word reads its own key and value, too",
          b * single * layers * 2 * d * (L_t * (L_t - 1) / 2 + L_s * L_t)},
         {"not every word reads all L_t: the cache grows word by word",
          b * single * layers * 2 * d * (L_t * L_t + L_s * L_t)},
         {"cross-attention reads keys and values, too",
          b * single * layers * 2 * d * L_t * (L_t + 1) / 2},
         {"keys and values are two arrays", bytes / 2},
         {"this is one layer", bytes / layers},
         {"this is one sentence", bytes / b},
         {"d_model counts the columns of all heads", bytes * heads}});
    const double kept = b * single * layers * 2 * d * (L_t + L_s);
    ask("kept", kept,
        {{"the source's keys and values are kept, too", b * single * layers * 2 * d * L_t},
         {"keys and values are two arrays", kept / 2},
         {"this is what is read, not what is kept", bytes}});
    // decoding_floor counts bytes of `Real`, which may be twice as wide
    const double weights = decoding_floor(base, 1, source, words).bytes_read * single /
                           static_cast<double>(sizeof(Real));
    const double first = std::floor(weights / (single * numbers)) + 1;
    const auto maps = linear_maps(base, 0, 1);
    double decoder = 0;
    for (const LinearMaps& m : maps) decoder += m.n_rows > 0 ? static_cast<double>(m.weights()) : 0;
    ask("from", first,
        {{"this is the largest number for which they are not more", first - 1},
         {"all weights of the decoder are read again for each word",
          std::floor(decoder / numbers) + 1}});
    ask("shared", bytes / heads,
        {{"all heads share one map of d_k columns, where each had its own", bytes},
         {"both keys and values are shared", bytes / 2 + bytes / 2 / heads}});
}
