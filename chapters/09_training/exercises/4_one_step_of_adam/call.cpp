#include "chapters/09_training/optimizer/optimizer.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
void adam_step(Parameter& w, Tensor& m, Tensor& v, const AdamStep& adam);
}

using namespace abh;

namespace {

/// Weight, both means and the gradient after one step.
std::vector<Tensor> one_step(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v,
                             Index step, Real learning_rate, Real eps, Real weight_decay) {
    Parameter parameter(w.clone());
    parameter.grad() += g;
    Tensor m_after = m.clone(), v_after = v.clone();
    mine::adam_step(parameter, m_after, v_after,
                    {{.eps = eps, .weight_decay = weight_decay}, learning_rate, step});
    return {parameter.value, m_after, v_after, parameter.grad()};
}

}  // namespace

int main() {
    return judge::serve({{"adam_step", judge::function(one_step)}});
}
