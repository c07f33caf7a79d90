// Exercise 12.4: a measurement that lies. Repair it, and write the test that it should have had.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace abh::mine {

using Run = std::function<void()>;
using Clock = std::function<double()>;  ///< seconds since some moment

/// How many times as fast `hers` is as `ours` once both are warm. The two take turns for at least
/// one round; the result is the median over all rounds of the time of `ours` divided by that of
/// `hers`.
/// @param now  the only clock to use; tests pass one that they move themselves
double gain(const Run& ours, const Run& hers, const Clock& now, int rounds) {
    // solution
    const auto seconds = [&](const Run& run) {
        const double before = now();
        run();
        return now() - before;
    };
    ours();
    hers();
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
        const double of_ours = seconds(ours), of_hers = seconds(hers);
        ratios.push_back(of_ours / of_hers);
    }
    std::sort(ratios.begin(), ratios.end());
    const std::size_t n = ratios.size();
    return (ratios[(n - 1) / 2] + ratios[n / 2]) / 2;
    // stub
    // const double start = now();
    // ours();
    // const double of_ours = now() - start;
    // const double again = now();
    // for (int i = 0; i < rounds; ++i) hers();
    // const double of_hers = (now() - again) / rounds;
    // return of_ours / of_hers;
    // end
}

/// Your test: whether `f` does what `gain` promises. It gives `f` a clock and two ways of its own,
/// so it knows the right result.
bool accepts(const std::function<double(const Run&, const Run&, const Clock&, int)>& f) {
    // solution
    struct World {
        double time = 0, cold = 0, slower = 1;
        int calls = 0, slow_from = 1000, held_from = 1000;

        Run way(double seconds) {
            return [this, seconds, first = true]() mutable {
                time += seconds * (calls >= slow_from ? slower : 1) + (first ? cold : 0);
                if (calls == held_from || calls == held_from + 4) time += 100;
                first = false;
                ++calls;
            };
        }
    };
    const auto is = [&](double right, World world, int rounds) {
        const double got = f(
            world.way(6), world.way(2), [&] { return world.time; }, rounds);
        return std::abs(got - right) < 1e-9;
    };
    return is(3, {.cold = 10}, 1) && is(3, {.slower = 2, .slow_from = 9}, 7) &&
           is(3, {.held_from = 6}, 7) && is(3, {.cold = 1, .held_from = 7}, 9) &&
           is(2, {.slower = 3, .slow_from = 3}, 2);  // rounds of 6 / 6 and 18 / 6
    // stub
    // double time = 0;
    // const double got = f([&] { time += 6; }, [&] { time += 2; }, [&] { return time; }, 5);
    // return std::abs(got - 3) < 1e-9;
    // end
}

}  // namespace abh::mine
