#include <algorithm>
#include <functional>
#include <stdexcept>

#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor influence(const Ids& words, Index n_words,
                 const std::function<Tensor(const Ids& words)>& logits);
}  // namespace abh::mine

using namespace abh;

namespace {

/// Of a model in which row t reads words `first` to `t + ahead`, if there are any.
Tensor influence(const Ids& words, Index n_words, Index first, Index ahead) {
    const Index n = words.dim(1);
    return mine::influence(words, n_words, [=](const Ids& ids) {
        for (const std::int32_t id : ids.values())
            if (id < 0 || id >= n_words) throw std::out_of_range("a word that does not exist");
        Tensor logits = Tensor::zeros({1, n, n_words});
        for (Index t = 0; t < n; ++t)
            for (Index j = first; j <= std::min(t + ahead, n - 1); ++j)
                logits(0, t, (j + t) % n_words) += static_cast<Real>(ids(0, j)) / 7;
        return logits;
    });
}

}  // namespace

int main() {
    return judge::serve({{"influence", judge::function(influence)}});
}
