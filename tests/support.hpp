#pragma once

// What the tests of several chapters share.
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "lib/fast/parallel.hpp"
#include "lib/fast/product.hpp"
#include "lib/parameter.hpp"
#include "lib/random.hpp"
#include "tests/catch.hpp"

/// The tests of gradients run where differences are exact enough: in the double build.
constexpr bool in_double = sizeof(abh::Real) == 8;

/// Same shape and the same bits; -0 is not 0, and NaN is NaN.
template <class T>
bool same_bits(const abh::BasicTensor<T>& a, const abh::BasicTensor<T>& b) {
    return a.shape() == b.shape() &&
           (a.empty() ||  // whose data may be null
            std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(T)) == 0);
}

/// Requires the same bits of each tensor.
inline void check_same_bits(const std::vector<abh::Tensor>& expected,
                            const std::vector<abh::Tensor>& found) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        INFO("tensor " << i << " of shape " << abh::to_string(expected[i].shape()));
        CHECK(same_bits(expected[i], found[i]));
    }
}

/// Standard normal numbers.
inline abh::Tensor random_tensor(const abh::Shape& shape, std::uint64_t seed = 9) {
    abh::Random random(seed);
    return abh::normal(shape, random.stream());
}

/// A number as a tensor, [1].
inline abh::Tensor one_number(double x) {
    return abh::Tensor({1}, {static_cast<abh::Real>(x)});
}

/// Gammas, betas and biases other than 1 and 0, so that an error in them shows.
template <class Layer>
void shake(Layer& layer, abh::Random& random) {
    for (const abh::NamedParameter& p : abh::parameters_of(layer))
        if (p.parameter->value.rank() == 1)
            p.parameter->value += abh::uniform(p.parameter->value.shape(), abh::Real(-0.5),
                                               abh::Real(0.5), random.stream());
}

/// Runs a test's body with 1, 2 and 3 threads, and leaves one.
template <class F>
void for_threads(const F& f) {
    for (int n : {1, 2, 3}) {
        abh::set_threads(n);
        f(n);
    }
    abh::set_threads(1);
}

/// Requires that `f`, which returns some tensors, gives the same bits again, with any number of
/// threads.
template <class F>
void same_for_threads(const F& f) {
    abh::set_threads(1);
    const std::vector<abh::Tensor> one = f();
    for_threads([&](int) { check_same_bits(one, f()); });
}

/// The same, but where oneDNN multiplies, whose sums may be taken in another order where a block
/// ends, only for one number of threads; for another the numbers are near.
///
/// Each addition of a sum is rounded by half an epsilon of what has been summed so far. Terms of
/// both signs add up to nothing larger than the largest element of the whole result, up to
/// a small factor that the layers between the products and this result bring in: so two orders of
/// `additions` terms are less than that many epsilons of it apart.
/// @param additions  how many an element has gone through, in all products on its way
template <class F>
void same_for_threads(const F& f, abh::Index additions) {
    if (!abh::products_by_library()) return same_for_threads(f);
    abh::set_threads(1);
    const std::vector<abh::Tensor> one = f();
    for_threads([&](int) {
        const std::vector<abh::Tensor> other = f();
        check_same_bits(other, f());
        for (std::size_t i = 0; i < one.size(); ++i) {
            double largest = 0;
            for (abh::Real v : one[i].values())
                largest = std::max(largest, std::abs(static_cast<double>(v)));
            constexpr double epsilon = std::numeric_limits<abh::Real>::epsilon();
            REQUIRE(std::isfinite(largest));
            CHECK(abh::max_difference(one[i], other[i]) <=
                  static_cast<double>(additions) * epsilon * largest);
        }
    });
}

/// The same, by numbers of its own.
template <class Layer>
void shake(Layer& layer) {
    abh::Random random(21);
    shake(layer, random);
}

/// Writes a file anew.
inline void put(const std::filesystem::path& path, const std::string& content) {
    std::filesystem::remove(path);  // to cut a file down to nothing makes some systems wait
    std::ofstream(path, std::ios::binary) << content;
}

/// A folder that goes away with its test.
struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "abhXXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::filesystem::path operator/(const std::string& name) const { return path / name; }
    /// A file in it, with this content.
    std::filesystem::path put(const std::string& name, const std::string& content) const {
        ::put(path / name, content);
        return path / name;
    }
    /// How many things lie in it.
    long count() const {
        return std::distance(std::filesystem::directory_iterator(path),
                             std::filesystem::directory_iterator());
    }
};
