#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "judge/answer/serve.hpp"

namespace abh::mine {
using Run = std::function<void()>;
using Clock = std::function<double()>;
double gain(const Run& ours, const Run& hers, const Clock& now, int rounds);
bool accepts(const std::function<double(const Run&, const Run&, const Clock&, int)>& f);
}  // namespace abh::mine

namespace {

using namespace abh;
using mine::Clock;
using mine::Run;

/// A machine whose clock moves only by the time that its calls are said to take.
class Machine {
public:
    Machine(double cold, double slower, int slow_from, int held, int held_again)
        : cold_(cold),
          slower_(slower),
          slow_from_(slow_from),
          held_(held),
          held_again_(held_again) {}

    Run call(double takes) {
        return [this, takes, first = true]() mutable {
            if (calls_ >= slow_from_) seconds_of_now_ = slower_;
            time_ += takes * seconds_of_now_ + (first ? cold_ : 0);
            if (calls_ == held_ || calls_ == held_again_) time_ += 50 * takes;
            first = false;
            ++calls_;
        };
    }
    Clock clock() {
        return [this] { return time_; };
    }

private:
    double cold_, slower_, seconds_of_now_ = 1, time_ = 0;
    int slow_from_, held_, held_again_, calls_ = 0;
};

double on_machine(double ours, double hers, double cold, double slower, int slow_from, int held,
                  int held_again, int rounds) {
    Machine machine(cold, slower, slow_from, held, held_again);
    return mine::gain(machine.call(ours), machine.call(hers), machine.clock(), rounds);
}

/// @param ours  seconds of the calls of `ours`, one after another; there are as many rounds
double in_rounds(const Tensor& ours, double hers) {
    double time = 0;
    Index call = 0;
    return mine::gain([&] { time += ours(call++ % ours.size()); }, [&] { time += hers; },
                      [&] { return time; }, static_cast<int>(ours.size()));
}

/// Ways to measure that the reader's test must tell apart.
enum class Fault { none, once, cold, one_after_the_other, mean, upper, upside_down };

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

double gain_with(Fault fault, const Run& ours, const Run& hers, const Clock& now, int rounds) {
    const auto timed = [&](const Run& run) {
        const double start = now();
        run();
        return now() - start;
    };
    if (fault != Fault::cold && fault != Fault::once) ours(), hers();
    std::vector<double> of_ours, of_hers, ratios;
    const int calls = fault == Fault::once ? 1 : rounds;
    if (fault == Fault::once || fault == Fault::one_after_the_other) {
        for (int i = 0; i < calls; ++i) of_ours.push_back(timed(ours));
        for (int i = 0; i < rounds; ++i) of_hers.push_back(timed(hers));
        if (fault == Fault::one_after_the_other) return median(of_ours) / median(of_hers);
        return of_ours[0] * rounds / std::accumulate(of_hers.begin(), of_hers.end(), 0.0);
    }
    for (int i = 0; i < rounds; ++i) {
        const double a = timed(ours), b = timed(hers);
        ratios.push_back(fault == Fault::upside_down ? b / a : a / b);
    }
    std::sort(ratios.begin(), ratios.end());
    if (fault == Fault::upper) return ratios[ratios.size() / 2];
    if (fault == Fault::mean) return std::accumulate(ratios.begin(), ratios.end(), 0.0) / rounds;
    return median(ratios);
}

/// What the reader's test says about the reader's own function, or about another one.
bool accepts(const std::string& which) {
    const std::map<std::string, Fault> faults{{"right", Fault::none},
                                              {"once", Fault::once},
                                              {"cold", Fault::cold},
                                              {"one_after_the_other", Fault::one_after_the_other},
                                              {"mean", Fault::mean},
                                              {"upper", Fault::upper},
                                              {"upside_down", Fault::upside_down}};
    const bool own = which == "own";
    const Fault fault = own ? Fault::none : faults.at(which);
    return mine::accepts([&](const Run& ours, const Run& hers, const Clock& now, int rounds) {
        return own ? mine::gain(ours, hers, now, rounds)
                   : gain_with(fault, ours, hers, now, rounds);
    });
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"gain", function(on_machine)},
                  {"rounds", function(in_rounds)},
                  {"accepts", function(accepts)}});
}
