#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/parameter.hpp"

namespace abh {
// [interface]
/// A tensor that an optimizer remembers, under a name such as `mean.encoder.layers.0.norm1.weight`.
struct NamedTensor {
    std::string name;
    Tensor tensor;  ///< a handle: writing its elements changes what the optimizer remembers
};

/// Moves parameters against their gradients. It does not set the gradients to zero.
class Optimizer {
public:
    explicit Optimizer(Parameters parameters) : parameters_(std::move(parameters)) {}
    virtual ~Optimizer() = default;
    /// Moves all parameters.
    void step(Real learning_rate);
    /// A step in parts: call `begin_step`, then `move` for each parameter, by its number.
    void begin_step() { ++steps_; }
    virtual void move(std::size_t i, Real learning_rate) = 0;
    /// What it remembers from step to step. Training can go on from there if this and `steps()` are
    /// saved.
    virtual std::vector<NamedTensor> memory() const = 0;
    Index steps() const { return steps_; }
    void set_steps(Index steps) { steps_ = steps; }

protected:
    /// The tensors, one per parameter, named `what` and then the parameter's name.
    std::vector<NamedTensor> named(const std::string& what,
                                   const std::vector<Tensor>& tensors) const;

    /// Moves all parameters on the device, in one launch.
    virtual void move_all(Real learning_rate) = 0;

    Parameters parameters_;
    Index steps_ = 0;
};
// [sgd]
/// Gradient descent with momentum, `v = momentum * v + g; w = w - lr * v`, where v starts at 0.
/// This is PyTorch's `SGD` without dampening.
class Sgd : public Optimizer {
public:
    /// @throws std::invalid_argument unless 0 <= momentum < 1
    Sgd(Parameters parameters, Real momentum);
    void move(std::size_t i, Real learning_rate) override;
    std::vector<NamedTensor> memory() const override { return named("velocity", velocity_); }

private:
    void move_all(Real learning_rate) override;

    Real momentum_;
    std::vector<Tensor> velocity_;
};
// [adam]
struct AdamOptions {
    Real beta1 = Real(0.9);
    Real beta2 = Real(0.999);
    Real eps = Real(1e-8);
    Real weight_decay = 0;  ///< above 0, this is AdamW; PyTorch's default there is 0.01
};

/// Adam, Kingma and Ba 2015: `m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
/// w = w - lr * (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)`.
///
/// With weight decay this is AdamW, Loshchilov and Hutter 2019, as in PyTorch: before that step,
/// and without going through either mean, `w = w - lr * weight_decay * w`, for every parameter.
class Adam : public Optimizer {
public:
    /// @throws std::invalid_argument if `weight_decay` is negative or not finite
    Adam(Parameters parameters, AdamOptions options = {});
    void move(std::size_t i, Real learning_rate) override;
    std::vector<NamedTensor> memory() const override;

private:
    void move_all(Real learning_rate) override;

    AdamOptions options_;
    std::vector<Tensor> mean_, square_;
};
// [operations]
/// `v = momentum * v + g; w = w - lr * v` for one parameter with gradient g.
void sgd_step(Parameter& w, Tensor& v, Real momentum, Real learning_rate);
/// What a step of Adam uses for every parameter.
struct AdamStep {
    AdamOptions options;
    Real learning_rate;
    Index step;  ///< t, counted from 1
};
/// Adam's four lines for one parameter. @param m, v  the running means of g and of g^2
void adam_step(Parameter& w, Tensor& m, Tensor& v, const AdamStep& adam);
// [schedule]
/// The learning rate of Vaswani et al. 2017, eq. 3, scaled so that its peak is `peak`. It grows
/// linearly for `warmup` steps, then decays with the inverse square root of the step; if `warmup`
/// is 0, it is always `peak`.
/// @param step  the number of the step, counted from 1
/// @throws std::invalid_argument if `step` is less than 1 or `warmup` negative
Real learning_rate(Index step, Real peak, Index warmup);

}  // namespace abh
