#include <functional>
#include <utility>
#include <vector>

#include "judge/answer/serve.hpp"

namespace abh::mine {
using Word = std::int32_t;
using Model = std::function<Tensor(const Ids& prefix)>;
std::pair<std::vector<Word>, Real> beam_decode(const Model& model, Word start, Word end,
                                               Index max_words, Index width);
}  // namespace abh::mine

using namespace abh;

namespace {

/// The sum that is found, and the words as text.
judge::Values decode(const judge::Values& given) {
    const Tensor table = judge::as<Tensor>(given.at(0));  // [T, n_words, n_words]
    const Index max_words = judge::as<Index>(given.at(1)), width = judge::as<Index>(given.at(2)),
                longest = table.dim(0), n_words = table.dim(2);
    // word 1 is the start symbol, 2 the end
    const mine::Model model = [&](const Ids& prefix) {
        require(prefix.rank() == 2 && prefix.dim(0) == 1 && prefix.size() >= 1 && prefix(0, 0) == 1,
                "model: the prefix has shape {}, expected [1, t] and the start symbol first",
                prefix.shape());
        const Index t = prefix.size() - 1;
        require(t < max_words, "model: asked for word {}, but max_words is {}", t + 1, max_words);
        Tensor logits({n_words});
        for (Index j = 0; j < n_words; ++j) {
            logits(j) = table(t % longest, prefix(0, t), j);
            if (t > 1) logits(j) += table((t + 1) % longest, prefix(0, 1), j) / 2;
        }
        return logits;
    };
    const auto [words, sum] = mine::beam_decode(model, 1, 2, max_words, width);
    std::string text;
    for (const mine::Word word : words) {
        if (!text.empty()) text += ' ';
        text += std::to_string(word);
    }
    return judge::values(Tensor({1}, {sum}), text);
}

}  // namespace

int main() {
    return judge::serve({{"beam_decode", decode}});
}
