#include "chapters/09_training/loss/argmax.hpp"

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(argmax) argmax;
}
namespace fast {
decltype(argmax) argmax;
}
namespace cuda {
decltype(argmax) argmax;
}
// [argmax]
BasicTensor<Prediction> argmax(const Tensor& logits) {
    require(logits.rank() == 3 && logits.dim(2) >= 1,
            "argmax: logits have shape {}, expected [B, L, n_words]", logits.shape());
    return Ways{"argmax", plain::argmax, fast::argmax, cuda::argmax}(logits);
}

BasicTensor<Prediction> plain::argmax(const Tensor& logits) {
    BasicTensor<Prediction> best({logits.dim(0), logits.dim(1)});
    for (Index r = 0; Prediction & prediction : best.values()) {
        const auto row = matrix(logits).row(r++).array();
        Index word = 0;
        for (Index w = 1; w < row.size(); ++w)
            if (row(w) > row(word)) word = w;
        prediction = {static_cast<std::int32_t>(word), 1 / (row - row(word)).exp().sum()};
    }
    return best;
}

}  // namespace abh
