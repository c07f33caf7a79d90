#include <algorithm>
#include <functional>
#include <vector>

#include "judge/answer/serve.hpp"

namespace abh::mine {
using Word = std::int32_t;
using Model = std::function<Word(const Ids& prefix)>;
using Greedy =
    std::function<std::vector<Word>(const Model& model, Word start, Word end, Index max_words)>;
std::vector<Word> greedy(const Model& model, Word start, Word end, Index max_words);
bool accepts(const Greedy& decode);
}  // namespace abh::mine

using namespace abh;
using mine::Word;

namespace {

/// What is said, and how often the model is asked. The model says `script`, word by word, and after
/// that its last word again and again; it answers 9 to a wrong prefix.
std::vector<Ids> translate(const Ids& script, Word start, Word end, Index max_words) {
    Index asked = 0;
    const mine::Model model = [&](const Ids& prefix) -> Word {
        if (++asked > 200)
            throw std::runtime_error("the model was asked more than 200 times: is there a cap?");
        const Index n = prefix.size() - 1;
        if (prefix.rank() != 2 || n < 0 || prefix(0, 0) != start) return 9;
        for (Index i = 0; i < n; ++i)
            if (prefix(0, i + 1) != script(std::min(i, script.size() - 1))) return 9;
        return script(std::min(n, script.size() - 1));
    };
    const std::vector<Word> words = mine::greedy(model, start, end, max_words);
    Ids said({static_cast<Index>(words.size())}), times({1});
    std::copy(words.begin(), words.end(), said.values().begin());
    times(0) = static_cast<std::int32_t>(asked);
    return {said, times};
}

/// Decoding with one mistake, or with none if `what` is "right".
std::vector<Word> decoded(const std::string& what, const mine::Model& model, Word start, Word end,
                          Index max_words) {
    const bool keeps_end = what == "the end symbol is kept";
    std::vector<Word> words;
    Index most = what == "no cap" ? 1'000'000 : max_words;
    if (what == "the cap is one too large") ++most;
    if (what == "the cap is one too small") most = std::max<Index>(1, most - 1);
    while (static_cast<Index>(words.size()) < most) {
        Ids prefix({1, static_cast<Index>(words.size()) + 1});
        prefix(0, 0) = start;
        std::copy(words.begin(), words.end(), prefix.values().begin() + 1);
        if (what == "the model sees the newest word alone")
            prefix = Ids({1, 1}, {words.empty() ? start : words.back()});
        if (what == "no start symbol" && !words.empty()) {
            prefix = Ids({1, static_cast<Index>(words.size())});
            std::copy(words.begin(), words.end(), prefix.values().begin());
        }
        if (what == "the newest word is missing in the prefix" && !words.empty())
            prefix = prefix.reshape({prefix.size()})
                         .rows(0, prefix.size() - 1)
                         .reshape({1, prefix.size() - 1});
        const Word next = model(prefix);
        if (next == end && !keeps_end) break;
        words.push_back(next);
        if (next == end) break;
    }
    if (what == "the last word is lost" && !words.empty()) words.pop_back();
    return words;
}

bool accepts(const std::string& what) {
    const mine::Greedy decode = [&](const mine::Model& model, Word start, Word end,
                                    Index max_words) {
        if (what == "own") return mine::greedy(model, start, end, max_words);
        if (what == "the one in your file at first") {
            std::vector<Word> words;
            while (words.empty() || words.back() != end) {
                Ids prefix({1, static_cast<Index>(words.size()) + 1});
                prefix(0, 0) = start;
                std::copy(words.begin(), words.end(), prefix.values().begin() + 1);
                words.push_back(model(prefix));
            }
            return words;
        }
        return decoded(what, model, start, end, max_words);
    };
    return mine::accepts(decode);
}

}  // namespace

int main() {
    return judge::serve(
        {{"greedy", judge::function(translate)}, {"accepts", judge::function(accepts)}});
}
