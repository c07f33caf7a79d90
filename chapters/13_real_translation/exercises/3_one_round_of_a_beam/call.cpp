#include <algorithm>
#include <vector>

#include "judge/answer/serve.hpp"

namespace abh::mine {
struct Round {
    std::vector<std::int32_t> parents, words;
    std::vector<Real> sums;
    std::vector<std::int32_t> ended;
    std::vector<Real> scores;
};
Round beam_round(const Tensor& sums, const Tensor& log_p, Index k, std::int32_t end, Index length,
                 Real alpha);
}  // namespace abh::mine

using namespace abh;

namespace {

template <class T>
BasicTensor<T> tensor(const std::vector<T>& numbers) {
    BasicTensor<T> t({static_cast<Index>(numbers.size())});
    std::copy(numbers.begin(), numbers.end(), t.data());
    return t;
}

judge::Values round_of(const judge::Values& given) {
    const mine::Round r =
        mine::beam_round(judge::as<Tensor>(given.at(0)), judge::as<Tensor>(given.at(1)),
                         judge::as<Index>(given.at(2)), judge::as<std::int32_t>(given.at(3)),
                         judge::as<Index>(given.at(4)), judge::as<Real>(given.at(5)));
    return judge::values(tensor(r.parents), tensor(r.words), tensor(r.sums), tensor(r.ended),
                         tensor(r.scores));
}

}  // namespace

int main() {
    return judge::serve({{"beam_round", round_of}});
}
