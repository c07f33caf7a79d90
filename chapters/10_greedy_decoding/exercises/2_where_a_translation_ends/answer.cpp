// Exercise 10.2: where a translation ends.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

using Word = std::int32_t;
/// The likeliest word after a prefix `[1, t]`, whose first id is the start symbol.
using Model = std::function<Word(const Ids& prefix)>;
using Greedy =
    std::function<std::vector<Word>(const Model& model, Word start, Word end, Index max_words)>;

/// The words that the model says, without start and end symbol.
/// @param max_words  stop after this many words even if the end symbol has not come; at least 1
std::vector<Word> greedy(const Model& model, Word start, Word end, Index max_words) {
    std::vector<Word> words;
    // solution
    while (static_cast<Index>(words.size()) < max_words) {
        Ids prefix({1, static_cast<Index>(words.size()) + 1});
        prefix(0, 0) = start;
        std::copy(words.begin(), words.end(), prefix.values().begin() + 1);
        const Word word = model(prefix);
        if (word == end) break;
        words.push_back(word);
    }
    // stub
    // while (words.empty() || words.back() != end) {
    //     Ids prefix({1, static_cast<Index>(words.size()) + 1});
    //     prefix(0, 0) = start;
    //     std::copy(words.begin(), words.end(), prefix.values().begin() + 1);
    //     words.push_back(model(prefix));
    // }
    // end
    return words;
}

/// Whether `decode` does what `greedy` should do.
bool accepts(const Greedy& decode) {
    // solution
    const Word start = 1, end = 2;
    for (const Index most : {1, 3, 9})
        for (const Index length : {0, 1, 4}) {  // of what the model would say
            Index asked = 0;
            bool wrong = false;
            const Model model = [&](const Ids& prefix) -> Word {
                ++asked;
                if (asked > 20) throw std::runtime_error("asked again and again");
                if (prefix.shape() != Shape{1, asked}) wrong = true;
                for (Index i = 0; i < prefix.size() && !wrong; ++i)
                    wrong = prefix.values()[static_cast<std::size_t>(i)] != (i == 0 ? 1 : 10 + i);
                return asked > length ? end : static_cast<Word>(10 + asked);
            };
            std::vector<Word> expected;
            for (Index i = 1; i <= std::min(length, most); ++i)
                expected.push_back(static_cast<Word>(10 + i));
            try {
                const std::vector<Word> said = decode(model, start, end, most);
                if (said != expected || wrong) return false;
            } catch (const std::runtime_error&) {
                return false;
            }
            if (asked != std::min(length + 1, most)) return false;
        }
    return true;
    // stub
    // return true;
    // end
}

}  // namespace abh::mine
