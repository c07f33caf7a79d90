#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "judge/answer/values.hpp"
#include "lib/random.hpp"

namespace abh::judge {

/// A common wrong answer, and what to say about it.
struct Mistake {
    std::string says;  ///< "the factor 1/sqrt(d_k) is forgotten"
    Values results;    ///< what such an answer returns
};

/// One call to the reader's function.
struct Case {
    std::string criterion;  ///< one of the criteria in exercise.json
    std::string call;       ///< the function's name in call.cpp
    Values arguments;
    Values results;           ///< the right ones
    double tolerance = 1e-9;  ///< relative to each result's largest element; 0: exact
    std::string about = {};   ///< what is special: "w [2, 5], dw drawn"
    std::vector<std::string> names =
        {};  ///< of the arguments, then of the results: "dw", "w", "dz"
    std::vector<std::pair<std::string, double>> constants = {};  ///< {"sqrt(d_k)", 2.83}, ...
    std::vector<Mistake> mistakes = {};
};

/// Draws an exercise's cases and writes them to standard output, for the judge to read.
class Cases {
public:
    /// Reads `--seed N` and `--given` from the command line; for the latter see `given`.
    Cases(int argc, char** argv);

    /// A tensor of standard normal numbers.
    Tensor normal(const Shape& shape);
    /// A tensor of numbers uniform in [low, high).
    Tensor uniform(const Shape& shape, double low, double high);
    /// A number from `first` to `last`, both included.
    Index between(Index first, Index last);
    /// Ids from 0 to `n - 1`.
    Ids ids(const Shape& shape, Index n);

    void add(const Case& c);
    /// With `--given`, writes the arguments that were drawn, and exits. `add` calls it; an exercise
    /// with long computations calls it before them.
    void given(const Values& arguments, const std::vector<std::string>& names) const;
    /// Calls the reader's test, `accepts` in call.cpp, with the function that has this name in
    /// call.cpp. "own" is the reader's repaired function, and "right" is one of call.cpp's: both
    /// must pass. All others must fail. `accepts` may take `more` arguments.
    void add_test(const std::string& criterion, const std::string& function,
                  const std::string& about, const Values& more = {});

private:
    Random random_;
    bool given_alone_;
};

/// The gradient of `<forward(), dy>` with respect to `x`, by central differences. `forward` reads
/// `x`, whose elements are moved in place. Good for comparisons to a tolerance of 1e-6.
Tensor differences(const std::function<Tensor()>& forward, Tensor x, const Tensor& dy);

/// Checks an exercise's own solution before anyone's answer is judged by it.
/// @throws std::logic_error unless both agree to `tolerance` times their largest element
void require_close(const Tensor& a, const Tensor& b, const char* what, double tolerance = 1e-6);

}  // namespace abh::judge
