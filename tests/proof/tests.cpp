// Per real: every component of the book against finite differences and against PyTorch. (Chapters hold all ways against plain.)
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "chapters/09_training/loop/training.hpp"
#include "chapters/09_training/loss/loss.hpp"
#include "lib/eigen.hpp"
#include "tests/proof/proof.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

using namespace abh;
using proof::Component;

namespace {

const std::filesystem::path golden = ABH_GOLDEN;

const Component& component(std::string_view name) {
    const auto& list = proof::components();
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const Component& c) { return c.name == name; });
    REQUIRE(found != list.end());
    return *found;
}

const std::vector<std::string> systems = {"toy", "notebook", "article", "shared_heads"};

}  // namespace

TEST_CASE("every gradient of every component agrees with finite differences") {
    if constexpr (in_double)
        for (const Component& c : proof::components())
            for (std::uint64_t seed = 1; c.has_gradient && seed <= 5; ++seed) {
                const proof::Differences found = proof::check_differences(c, seed);
                INFO(c.name << ", seed " << seed << ": " << found.name << " "
                            << to_string(found.worst));
                CHECK(found.checked > 0);
                CHECK(found.worst.relative < 1e-6);
            }
}

TEST_CASE("every component is PyTorch's, forward and backward") {
    for (const Component& c : proof::components()) {
        if (!c.in_pytorch) continue;
        for (const proof::Distance& d : proof::compare(c, golden)) {
            INFO(c.name << ": " << to_string(d));
            // In single precision a gradient that is a small difference of large terms, as where
            // softmax saturates, keeps few digits. PyTorch's own single precision shows how many
            // can be had; ours may have one less.
            const double bound = in_double ? 1e-10 : std::max(2e-5, 10 * d.of_pytorch);
            CHECK(d.relative <= bound);
        }
    }
}

TEST_CASE("every fixture belongs to a component or to the ten steps of a system") {
    std::set<std::string> expected, found;
    for (const Component& c : proof::components())
        if (c.in_pytorch) expected.insert(c.name);
    for (const std::string& system : systems) expected.insert("steps_" + system);
    for (const auto& entry : std::filesystem::directory_iterator(golden)) {
        if (entry.path().extension() != ".safetensors") continue;
        found.insert(entry.path().stem().string());
        CHECK(entry.file_size() < 1'000'000);
    }
    CHECK(found == expected);
}

namespace {

/// How far Adam may carry each element of a parameter beyond round-off, step by step. In single
/// precision a gradient may be off by 2e-5 of the tensor's largest (above). A step divides it by
/// the root of the mean square of the element's own gradients so far, and moves by `rate` times
/// that.
struct Astray {
    Tensor squares, allowed;

    explicit Astray(const Tensor& value)
        : squares(Tensor::zeros(value.shape())), allowed(Tensor::zeros(value.shape())) {}

    void step(const Tensor& gradient, Real rate) {
        vector(squares).array() += vector(gradient).array().square();
        const Real largest = vector(squares).maxCoeff();
        vector(allowed).array() +=
            rate * (Real(2e-5) * (largest / vector(squares).array()).sqrt()).min(Real(1));
    }
};

}  // namespace

TEST_CASE("ten steps of every optimizer end where PyTorch ends") {
    // Where the processor plays the device one run a system must do, with each optimizer among
    // them.
    const auto one_of_four = [](const std::string& system, const std::string& method, bool smooth) {
        return (system == "toy" && method == "sgd" && !smooth) ||
               (system == "notebook" && method == "adam" && smooth) ||
               (system == "article" && method == "adamw" && !smooth) ||
               (system == "shared_heads" && method == "sgd" && smooth);
    };
    const double bound = in_double ? 1e-9 : 1e-4;
    for (const std::string& system : systems)
        for (const std::string method : {"sgd", "adam", "adamw"})
            for (const bool smoothed : {false, true}) {
                if (emulated() && !one_of_four(system, method, smoothed)) continue;
                const std::string run = method + (smoothed ? "_smoothed" : "");
                const TensorFile theirs =
                    load_safetensors(golden / ("steps_" + system + ".safetensors"));
                const proof::Fixture start(golden / ("loss_" + system + ".safetensors"));
                const proof::Trial model =
                    load_trial(component("transformer_" + system), start, "odd");
                const Ids target =
                    load_trial(component("loss_" + system), start, "odd").ids.at("target");

                const std::unique_ptr<Optimizer> optimizer =
                    make_optimizer(model.parameters, {.optimizer = method, .momentum = Real(0.9)});
                Tensor losses({10});
                std::vector<Astray> astray;
                for (const NamedParameter& p : model.parameters)
                    astray.emplace_back(p.parameter->value);
                for (Index n = 1; n <= 10; ++n) {
                    zero_grad(model.parameters);
                    CrossEntropyCache cache;
                    const proof::Pass pass = model.forward();
                    losses(n - 1) = static_cast<Real>(
                        cross_entropy(pass.y, target, {0, Real(smoothed ? 0.1 : 0)}, &cache));
                    pass.backward(cross_entropy_backward(cache));
                    const Real rate = learning_rate(n, Real(0.01), 4);
                    for (std::size_t i = 0; i < astray.size(); ++i)
                        astray[i].step(model.parameters[i].parameter->grad(), rate);
                    optimizer->step(rate);
                }
                const auto check = [&](const std::string& name, const Tensor& ours) {
                    const Tensor& expected = theirs.at(run + "/" + name, ours.shape());
                    const auto d = proof::distance(run + "/" + name, ours, expected, 0.01);
                    INFO(system << ": " << to_string(d));
                    CHECK(d.relative <= bound);
                };
                check("loss", losses);
                for (std::size_t i = 0; i < astray.size(); ++i) {
                    const NamedParameter& p = model.parameters[i];
                    // A key's bias moves all scores of a query alike, so its gradient is round-off,
                    // which Adam divides by its own size: it goes astray, and nothing depends on
                    // it.
                    if (method != "sgd" && p.name.ends_with("w_k.bias")) continue;
                    Tensor value = p.parameter->value.clone();
                    const Tensor& expected = theirs.at(run + "/" + p.name, value.shape());
                    if (method != "sgd" && !in_double)
                        for (Index j = 0; j < value.size(); ++j) {
                            const double d = static_cast<double>(value.data()[j]) -
                                             static_cast<double>(expected.data()[j]);
                            if (std::abs(d) <= static_cast<double>(astray[i].allowed.data()[j]))
                                value.data()[j] = expected.data()[j];
                        }
                    check(p.name, value);
                }
            }
}
