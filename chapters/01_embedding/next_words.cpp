#include "chapters/01_embedding/next_words.hpp"

#include <algorithm>
#include <cmath>

#include "lib/eigen.hpp"

namespace abh {
// [sentences]
/// In each of the three sentences, the words that are read, and the words that follow them.
static const Ids before({1, 15}, {0, 1, 2, 3, 4, 0, 1, 6, 7, 4, 0, 1, 2, 8, 4});
static const Ids after({1, 15}, {1, 2, 3, 4, 5, 1, 6, 7, 4, 5, 1, 2, 8, 4, 5});

Real NextWords::step(Real eta) {
    Embedding::Cache read;
    Linear::Cache seen;
    Real loss = 0;
    Tensor dz({1, 15, 9});  // for 15 places, the gradient of nine scores
    // [step]
    const Tensor z = scores.forward(words.forward(before, &read), &seen);
    for (Index r = 0; std::int32_t next : after.values()) {  // at each place
        Eigen::RowVectorX<Real> p = matrix(z).row(r).array().exp();
        p /= p.sum();                                      // softmax: probabilities
        loss -= std::log(p(next)) / 15;                    // the mean of 15 places
        matrix(dz).row(r++) = (p - p.Unit(9, next)) / 15;  // p minus one-hot
    }
    words.backward(scores.backward(dz, seen), read);
    for (Parameter* w : {&words.table, &scores.weight}) {
        vector(w->value) -= eta * vector(w->grad());  // W -= eta dW
        w->zero_grad();                               // and the next step starts afresh
    }
    // [use]
    return loss;
}

Tensor NextWords::probabilities(std::int32_t id) const {
    Tensor p = scores.forward(words.forward(Ids({1, 1}, {id})));
    vector(p) = vector(p).array().exp();
    vector(p) /= vector(p).sum();
    return p;
}

std::string NextWords::says() const {
    std::string sentence = english[0];
    for (std::int32_t id = 0, length = 1; id != 5 && length < 10; ++length) {
        const Tensor p = probabilities(id);
        id = static_cast<std::int32_t>(std::ranges::max_element(p.values()) - p.values().begin());
        sentence += " " + english[static_cast<std::size_t>(id)];
    }
    return sentence;
}

}  // namespace abh
