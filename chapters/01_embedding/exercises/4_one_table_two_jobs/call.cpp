#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor logits(const Tensor& x, const Tensor& table);
Tensor tied_backward(const Tensor& dy, const Ids& ids, const Tensor& dz, const Tensor& x,
                     const Tensor& table, Tensor& dtable);
}  // namespace abh::mine

namespace {

using namespace abh;

Tensor dx(const Tensor& dy, const Ids& ids, const Tensor& dz, const Tensor& x,
          const Tensor& table) {
    Tensor dtable = Tensor::zeros(table.shape());
    return mine::tied_backward(dy, ids, dz, x, table, dtable);
}

Tensor dtable(const Tensor& dy, const Ids& ids, const Tensor& dz, const Tensor& x,
              const Tensor& table, const Tensor& before) {
    Tensor sum = before.clone();
    mine::tied_backward(dy, ids, dz, x, table, sum);
    return sum;
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"logits", function(abh::mine::logits)},
                  {"dx", function(dx)},
                  {"dtable", function(dtable)}});
}
