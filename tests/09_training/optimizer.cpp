// Per real and way: optimizers, the learning rate, and the gradients that optimizers read.
#include "chapters/09_training/optimizer/optimizer.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/fast/gradient.hpp"
#include "lib/linear.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

using namespace abh;

TEST_CASE("down a valley the optimizers take the steps of the table") {
    const auto go = [](Real rate, auto make, std::initializer_list<std::array<double, 2>> table) {
        for (const Real times : {Real(1), Real(1000)}) {  // the loss, and a thousand times the loss
            if (times > 1 && !std::is_same_v<decltype(make(Parameters{})), Adam>) continue;
            Parameter w(Tensor({2}, {10, 1}));
            auto optimizer = make(Parameters{{"w", &w}});
            for (const auto& [a, b] : table) {
                w.grad()(0) = times * w.value(0);
                const Real slope = w.grad()(1) = times * 20 * w.value(1);
                optimizer.step(rate);
                CHECK(w.grad()(1) == slope);
                CHECK(w.value(0) == Approx(a).margin(0.0006));
                CHECK(w.value(1) == Approx(b).margin(0.0006));
            }
        }
    };
    go(Real(0.1), [](const Parameters& p) { return Sgd(p, 0); },
       {{9, -1}, {8.1, 1}, {7.29, -1}, {6.561, 1}});
    go(Real(0.02), [](const Parameters& p) { return Sgd(p, Real(0.9)); },
       {{9.8, 0.6}, {9.8 - 0.02 * (9 + 9.8), 0.6 - 0.02 * (18 + 12)}});
    go(Real(0.4), [](const Parameters& p) { return Adam(p, {.beta1 = 0, .beta2 = 0}); },
       {{9.6, 0.6}, {9.2, 0.2}, {8.8, -0.2}, {8.4, 0.2}});
    go(1, [](const Parameters& p) { return Adam(p); },
       {{9, 0}, {9 - 9.474 / 9.513, -9.474 / 14.139}});
    go(1, [](const Parameters& p) { return Adam(p, {.weight_decay = Real(0.01)}); },
       {{8.9, -0.01}});
}

TEST_CASE("adamw shrinks a weight without a gradient, and adam leaves it alone") {
    Parameter w(Tensor({1}, {4}));
    w.grad()(0) = 0;
    Adam({{"w", &w}}).step(Real(0.1));
    CHECK(w.value(0) == 4);
    Adam({{"w", &w}}, {.weight_decay = Real(0.25)}).step(Real(0.1));
    CHECK(w.value(0) == Approx(4 * (1 - 0.1 * 0.25)).epsilon(1e-6));
    for (const Real decay : {Real(-1), std::numeric_limits<Real>::quiet_NaN()})
        CHECK_THROWS_WITH(Adam({{"w", &w}}, {.weight_decay = decay}), Contains("weight decay"));
}

TEST_CASE("adam's first step is the learning rate, whatever the size of the gradient") {
    for (const Real size : {Real(1e-3), Real(1), Real(1e3)}) {
        Parameter w(Tensor({2}, {0, 0}));
        w.grad()(0) = size;
        w.grad()(1) = -size;
        Adam adam({{"w", &w}});
        adam.step(Real(0.01));
        CHECK(w.value(0) == Approx(-0.01).epsilon(1e-4));
        CHECK(w.value(1) == Approx(0.01).epsilon(1e-4));
    }
}

TEST_CASE("optimizers move every parameter, the same bits for any number of threads", "[fast]") {
    for (const bool is_adam : {false, true})
        same_for_threads([&] {
            Random random(3);
            Parameter a(normal({300, 257}, random.stream())), b(normal({5}, random.stream()));
            const Tensor start = a.value.clone();
            const Parameters list{{"a", &a}, {"b", &b}};
            Sgd sgd(list, Real(0.99));
            Adam adam(list);
            for (int step = 0; step < 3; ++step) {
                a.grad() += normal(a.value.shape(), random.stream());
                b.grad() += normal(b.value.shape(), random.stream());
                is_adam ? adam.step(Real(0.01)) : sgd.step(Real(0.01));
            }
            Index moved = 0;
            for (Index i = 0; i < start.size(); ++i) moved += a.value.data()[i] != start.data()[i];
            CHECK(moved > start.size() * 99 / 100);
            return std::vector{a.value, b.value};
        });
}

TEST_CASE("sgd refuses a momentum outside 0 to 1") {
    Parameter w(Tensor({1}, {0}));
    CHECK_THROWS_WITH(Sgd({{"w", &w}}, 1), Contains("momentum 1, expected 0 <= momentum < 1"));
    CHECK_THROWS_WITH(Sgd({{"w", &w}}, -1), Contains("momentum -1"));
}

TEST_CASE("the learning rate grows to its peak and decays with the inverse root") {
    CHECK(learning_rate(1, Real(0.5), 0) == Real(0.5));
    CHECK(learning_rate(1'000'000, Real(0.5), 0) == Real(0.5));
    CHECK(learning_rate(10, 1, 40) == Approx(0.25));
    CHECK(learning_rate(40, 1, 40) == 1);
    CHECK(learning_rate(160, 1, 40) == Approx(0.5));
    CHECK_THROWS_WITH(learning_rate(0, 1, 40), Contains("step 0"));
    CHECK_THROWS_WITH(learning_rate(1, 1, -1), Contains("warm-up -1"));
}

TEST_CASE("an optimizer goes on from what it remembers") {
    const auto go_on = [](auto make) {
        Parameter one(Tensor({2}, {1, -2})), other(Tensor({2}, {1, -2}));
        auto first = make(Parameters{{"w", &one}}), second = make(Parameters{{"w", &other}});
        const auto step = [](Parameter& p, Optimizer& optimizer) {
            p.zero_grad();
            p.grad() += p.value;
            optimizer.step(Real(0.1));
        };
        for (int i = 0; i < 3; ++i) step(one, first);
        other.value = one.value.clone();
        second.set_steps(first.steps());
        const auto from = first.memory(), to = second.memory();
        for (std::size_t i = 0; i < from.size(); ++i) {
            CHECK(from[i].name == to[i].name);
            CHECK(from[i].name.ends_with(".w"));
            Tensor tensor = to[i].tensor;
            std::copy_n(from[i].tensor.data(), 2, tensor.data());
        }
        step(one, first);
        step(other, second);
        CHECK(same_bits(one.value, other.value));
        return from.size();
    };
    CHECK(go_on([](const Parameters& p) { return Sgd(p, Real(0.9)); }) == 1);
    CHECK(go_on([](const Parameters& p) { return Adam(p); }) == 2);
}

TEST_CASE("every way takes plain's steps of each optimizer") {
    for (const std::string method : {"sgd", "adam", "adamw"})
        for (const Index n : {0, 1, 31, 33, 257, 35'980}) {
            CAPTURE(method, n);
            same_in_every_way([&] {
                Random random(static_cast<std::uint64_t>(n) + 3);
                Parameter p(normal({n}, random.stream())), untouched(Tensor::full({2}, 1));
                const Parameters list{{"p", &p}, {"untouched", &untouched}};
                Sgd sgd(list, Real(0.9));
                Adam adam(list, {.weight_decay = Real(method == "adamw" ? 0.1 : 0)});
                for (int step = 0; step < 3; ++step) {
                    zero_grad(list);
                    p.grad() += normal({n}, random.stream());
                    Optimizer& optimizer = method == "sgd" ? static_cast<Optimizer&>(sgd) : adam;
                    optimizer.step(Real(0.01));
                }
                return std::vector{p.value, untouched.value};
            });
        }
}

TEST_CASE("every way moves a list of parameters, all at once or one after the other") {
    for (const bool is_adam : {false, true})
        for (const bool one_by_one : {false, true}) {
            CAPTURE(is_adam, one_by_one);
            same_in_every_way([&] {
                Random random(5);
                std::vector<Parameter> all;
                for (const Index n : {5, 0, 4096, 4097, 1, 9000})
                    all.emplace_back(normal({n}, random.stream()));
                all.emplace_back(
                    normal({10}, random.stream()).rows(1, 10));  // where no four begins
                Parameters list;
                for (Parameter& p : all) list.push_back({"p", &p});
                Sgd sgd(list, Real(0.9));
                Adam adam(list);
                Optimizer& optimizer = is_adam ? static_cast<Optimizer&>(adam) : sgd;
                for (int step = 0; step < 2; ++step) {
                    for (Parameter& p : all) {
                        p.zero_grad();
                        p.gradient.add(normal(p.value.shape(), random.stream()));
                    }
                    if (!one_by_one) optimizer.step(Real(0.1));
                    if (one_by_one) optimizer.begin_step();
                    for (std::size_t i = 0; i < all.size() && one_by_one; ++i)
                        optimizer.move(i, Real(0.1));
                }
                std::vector<Tensor> found{one_number(grad_norm(list))};
                scale_grad(list, Real(0.5));
                for (Parameter& p : all) found.insert(found.end(), {p.value, p.grad()});
                return found;
            });
        }
}

TEST_CASE("every way measures the gradients of more parameters than a sum has parts") {
    same_in_every_way([] {
        std::vector<Parameter> all;
        Parameters list;
        for (Index i = 0; i < 1100; ++i) all.emplace_back(Tensor({1}, {0}));
        for (Parameter& p : all) {
            p.grad().fill(1);
            list.push_back({"p", &p});
        }
        return std::vector{one_number(grad_norm(list))};
    });
}

TEST_CASE("every way sums biases' gradients over any number of rows, added up or begun anew") {
    for (const Index first : {1, 64, 65, 300})
        for (const Way of_optimizer : ways_here())
            same_in_every_way([&] {
                Random random(2);
                Linear map(3, 35, true, random), other(3, 5, true, random);
                Parameters list = parameters_of(map, "map");
                other.collect(list, "other");
                Sgd sgd(list, 0);
                std::vector<Tensor> found;
                const auto backward = [&](Linear& of, Index n) {
                    Linear::Cache cache;
                    of.forward(normal({n, 3}, random.stream()), &cache);
                    of.backward(normal({n, of.d_out()}, random.stream()), cache);
                };
                backward(map, first);
                backward(map, first);
                found.push_back(map.bias.grad().clone());
                backward(map, first);
                backward(map, 3 * first);
                zero_grad(list);
                backward(map, first);
                backward(other, 200);
                found.push_back(one_number(grad_norm(list)));
                backward(map, 90);
                backward(other, 200);
                scale_grad(list, Real(0.5));
                backward(other, 200);
                backward(other, 300);
                const ScopedWay scoped(of_optimizer);  // may differ from that of backward
                sgd.step(Real(0.01));
                for (const NamedParameter& p : list)
                    found.insert(found.end(), {p.parameter->value, p.parameter->grad()});
                return found;
            });
}

TEST_CASE("gradients that are products move weights in every way as in plain") {
    same_in_every_way([] {
        Random random(4);
        Parameter w(normal({70, 90}, random.stream()));
        Sgd sgd({{"w", &w}}, Real(0.9));
        for (int step = 0; step < 2; ++step) {
            w.zero_grad();
            for (const Index rows : {3, 2})
                fast::add_product(w.gradient, normal({rows, 70}, random.stream()),
                                  normal({rows, 90}, random.stream()));
            sgd.step(Real(0.1));
        }
        return std::vector{w.value, one_number(grad_norm({{"w", &w}}))};
    });
}
