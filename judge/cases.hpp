#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "judge/values.hpp"
#include "lib/random.hpp"

namespace abh::judge {

/// An answer that many people give, and what to say to it.
struct Mistake {
    std::string says;  ///< "the factor 1/sqrt(d_k) is forgotten"
    Values results;    ///< what such an answer returns
};

/// One call of the reader's function.
struct Case {
    std::string criterion;  ///< one of those in exercise.json
    std::string call;       ///< the function's name in call.cpp
    Values arguments;
    Values results;           ///< what is right
    double tolerance = 1e-9;  ///< relative to each result's largest element; 0: the same numbers
    std::string about = {};   ///< "w [2, 5], dw drawn": what was special
    std::vector<std::string> names =
        {};  ///< of the arguments, then of the results: "dw", "w", "dz"
    std::vector<std::pair<std::string, double>> constants = {};  ///< {"sqrt(d_k)", 2.83}, ...
    std::vector<Mistake> mistakes = {};
};

/// Draws an exercise's cases and writes them to standard output, for the judge to read.
class Cases {
public:
    /// Reads `--seed N` from the command line, and `--given`: see `given`.
    Cases(int argc, char** argv);

    /// A tensor of standard normal numbers.
    Tensor normal(const Shape& shape);
    /// A tensor of numbers uniform in [low, high).
    Tensor uniform(const Shape& shape, double low, double high);
    /// From `first` to `last`, both included.
    Index between(Index first, Index last);
    /// Ids from 0 to `n - 1`.
    Ids ids(const Shape& shape, Index n);

    void add(const Case& c);
    /// With `--given` the program ends here, and has said what is drawn. `add` calls it; an
    /// exercise that computes for long calls it before.
    void given(const Values& arguments, const std::vector<std::string>& names) const;
    /// Calls the reader's test, `accepts` in call.cpp, with the function that call.cpp knows by
    /// this name: "own" is the reader's repaired one, "right" is one of call.cpp's, and both must
    /// pass; all others must not. `accepts` may take `more` arguments.
    void add_test(const std::string& criterion, const std::string& function,
                  const std::string& about, const Values& more = {});

private:
    Random random_;
    bool given_alone_;
};

/// The gradient of `<forward(), dy>` with respect to `x`, by central differences: `forward` reads
/// `x`, whose elements are moved in place. Compare with it to 1e-6.
Tensor differences(const std::function<Tensor()>& forward, Tensor x, const Tensor& dy);

/// @throws std::logic_error unless both agree to `tolerance` of the larger one's largest element:
/// an exercise's own solution is checked before anybody is judged by it
void require_close(const Tensor& a, const Tensor& b, const char* what, double tolerance = 1e-6);

}  // namespace abh::judge
