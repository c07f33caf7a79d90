// The widget of chapter 15, in double precision: from the logits of a trained model to the words
// that are drawn.
#include "chapters/15_language_model/sampling.hpp"

#include "calls.hpp"

using namespace abh;
using live::In;
using live::put;
using live::with_numbers;

namespace {

/// Temperature, top-k, top-p and the number of words, then their logits.
std::vector<double> probabilities(In& in) {
    SamplingOptions o;
    o.temperature = static_cast<Real>(in.number());
    o.top_k = in.whole();
    o.top_p = static_cast<Real>(in.number());
    return sampling_probabilities(in.tensor({in.whole()}), o);
}

}  // namespace

extern "C" {
// [probabilities]
/// @return the probability of each word
EMSCRIPTEN_KEEPALIVE int live_sampling() {
    return with_numbers([](In& in) {
        for (const double p : probabilities(in)) put(p);
    });
}
// [draw]
/// The same, then a seed, the first number of its stream to be used, and how many are.
/// @return of each: the number, in [0, 1), and the id of the word that it draws
EMSCRIPTEN_KEEPALIVE int live_draw() {
    return with_numbers([](In& in) {
        const std::vector<double> p = probabilities(in);
        const Stream stream = Random(static_cast<std::uint64_t>(in.whole())).stream();
        const Index first = in.whole(), count = in.whole();
        for (Index i = first; i < first + count; ++i) {
            const double u = stream.uniform(i);
            put(u);
            put(sample(p, u));
        }
    });
}

}  // extern "C"
