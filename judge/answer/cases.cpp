#include "judge/answer/cases.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace abh::judge {
namespace {

std::uint64_t seed_of(int argc, char** argv) {
    if ((argc != 3 && argc != 4) || std::string_view(argv[1]) != "--seed")
        throw std::invalid_argument(fmt::format("usage: {} --seed N [--given]", argv[0]));
    return std::strtoull(argv[2], nullptr, 10);
}

/// Writes the values for the judge to read.
void print(const Values& all) {
    const std::string bytes = to_bytes(all);
    const std::uint64_t size = bytes.size();
    std::fwrite(&size, sizeof size, 1, stdout);
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
}

double largest(const Tensor& x) {
    double size = 0;
    for (const Real element : x.values())
        size = std::max(size, std::abs(static_cast<double>(element)));
    return size;
}

}  // namespace

Cases::Cases(int argc, char** argv)
    : random_(seed_of(argc, argv)),
      given_alone_(argc == 4 && std::string_view(argv[3]) == "--given") {}

Tensor Cases::normal(const Shape& shape) {
    return abh::normal(shape, random_.stream());
}

Tensor Cases::uniform(const Shape& shape, double low, double high) {
    return abh::uniform(shape, static_cast<Real>(low), static_cast<Real>(high), random_.stream());
}

Index Cases::between(Index first, Index last) {
    const auto n = static_cast<std::int32_t>(last - first + 1);
    return first + random_ids({1}, 0, n, random_.stream())(0);
}

Ids Cases::ids(const Shape& shape, Index n) {
    return random_ids(shape, 0, static_cast<std::int32_t>(n), random_.stream());
}

void Cases::add(const Case& c) {
    given(c.arguments, c.names);
    Values all =
        values(c.criterion, c.call, c.about, c.tolerance, static_cast<Index>(c.arguments.size()),
               static_cast<Index>(c.results.size()), static_cast<Index>(c.names.size()),
               static_cast<Index>(c.constants.size()), static_cast<Index>(c.mistakes.size()));
    all.insert(all.end(), c.arguments.begin(), c.arguments.end());
    all.insert(all.end(), c.results.begin(), c.results.end());
    append(all, c.names);
    for (const auto& [name, constant] : c.constants) append(all, name, constant);
    for (const Mistake& mistake : c.mistakes) {
        if (mistake.results.size() != c.results.size())
            throw std::logic_error("a mistake has another number of results than the right answer");
        append(all, mistake.says);
        all.insert(all.end(), mistake.results.begin(), mistake.results.end());
    }
    print(all);
}

void Cases::given(const Values& arguments, const std::vector<std::string>& names) const {
    if (!given_alone_) return;
    Values all = arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) append(all, names.at(i));
    print(all);
    std::exit(0);
}

void Cases::add_test(const std::string& criterion, const std::string& function,
                     const std::string& about, const Values& more) {
    const bool own = function == "own", passes = own || function == "right";
    Case c{.criterion = criterion,
           .call = "accepts",
           .arguments = values(function),
           .results = values(passes),
           .about = about + (own      ? ", which it should accept once it is repaired"
                             : passes ? ", which it should accept"
                                      : ", which it should refuse"),
           .names = {"function"}};
    for (const Value& argument : more) {
        c.arguments.push_back(argument);
        c.names.push_back("drawn");
    }
    c.names.push_back("accepts(function)");
    add(c);
}

Tensor differences(const std::function<Tensor()>& forward, Tensor x, const Tensor& dy) {
    Tensor dx(x.shape());
    for (Index i = 0; i < x.size(); ++i) {
        Real& element = x.values()[static_cast<std::size_t>(i)];
        const Real before = element, step = Real(1e-5);
        element = before + step;
        const double right = dot(forward(), dy);
        element = before - step;
        const double left = dot(forward(), dy);
        element = before;
        dx.values()[static_cast<std::size_t>(i)] =
            static_cast<Real>((right - left) / (2 * static_cast<double>(step)));
    }
    return dx;
}

void require_close(const Tensor& a, const Tensor& b, const char* what, double tolerance) {
    const double size = std::max({largest(a), largest(b), 1e-3});
    if (a.shape() != b.shape() || !(max_difference(a, b) <= tolerance * size))
        throw std::logic_error(fmt::format("{}: the exercise's own answer is wrong by {}", what,
                                           a.shape() == b.shape() ? max_difference(a, b) : NAN));
}

}  // namespace abh::judge
