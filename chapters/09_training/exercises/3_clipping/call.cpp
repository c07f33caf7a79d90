#include "judge/answer/serve.hpp"
#include "lib/parameter.hpp"

namespace abh::mine {
Real clip_gradients(const Parameters& parameters, Real largest);
}

using namespace abh;

namespace {

/// The norm that is returned, and the gradients of three parameters.
std::vector<Tensor> clip(const Tensor& a, const Tensor& b, const Tensor& c, Real largest) {
    Parameter p[3];
    Parameters list;
    for (std::size_t i = 0; const Tensor* gradient : {&a, &b, &c}) {
        p[i] = Parameter(Tensor::zeros(gradient->shape()));
        p[i].grad() += *gradient;
        list.push_back({std::string(1, "abc"[i]), &p[i]});
        ++i;
    }
    const Real norm = mine::clip_gradients(list, largest);
    return {Tensor({1}, {norm}), p[0].grad(), p[1].grad(), p[2].grad()};
}

}  // namespace

int main() {
    return judge::serve({{"clip_gradients", judge::function(clip)}});
}
