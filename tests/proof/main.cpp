// Prints, for every component, how far its gradients are from finite differences (double precision
// only) and how far its results and gradients are from PyTorch's.

#include "lib/program/program.hpp"
#include "tests/proof/proof.hpp"

using namespace abh;

namespace {

constexpr bool in_double = sizeof(Real) == 8;

/// The worst of what a component's fixture holds.
struct Worst {
    double forward = 0, backward = 0, pytorch_forward = 0, pytorch_backward = 0;
};

Worst worst_of(const std::vector<proof::Distance>& list) {
    Worst worst;
    for (const proof::Distance& d : list) {
        double& ours = d.is_gradient ? worst.backward : worst.forward;
        double& theirs = d.is_gradient ? worst.pytorch_backward : worst.pytorch_forward;
        if (!(d.relative <= ours)) ours = d.relative;
        theirs = std::max(theirs, d.of_pytorch);
    }
    return worst;
}

std::string cell(bool shown, double value) {
    return shown ? value == 0 ? "0" : fmt::format("{:.0e}", value) : "-";
}

}  // namespace

int main(int argc, char** argv) {
    int trials = 3;
    Program program("Hold every component against finite differences and against PyTorch.");
    if (in_double)
        program.options()
            .add("--trials", trials, "gradient checks a component, each with other sizes")
            .range(1, 1000);
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        Index all_checked = 0;
        double all_differences = 0;
        Worst all;
        std::size_t compared = 0, behind = 0, far = 0;
        if (in_double)
            fmt::print("seeds {} to {}; the largest relative differences\n\n{:37}{}\n",
                       program.seed(), program.seed() + static_cast<std::uint64_t>(trials) - 1,
                       "chapter and component", "  elements  differences  forward  backward");
        else
            fmt::print("{:37}{}\n{:37}{}\n", "", "       ours           PyTorch, float32",
                       "chapter and component", "forward  backward  forward  backward");
        for (const proof::Component& c : proof::components()) {
            Index checked = 0;
            double differences = 0;
            for (int i = 0; in_double && c.has_gradient && i < trials; ++i) {
                const auto found =
                    proof::check_differences(c, program.seed() + static_cast<std::uint64_t>(i));
                checked += found.checked;
                differences = std::max(differences, found.worst.relative);
            }
            const auto distances =
                c.in_pytorch ? proof::compare(c, ABH_GOLDEN) : std::vector<proof::Distance>{};
            for (const proof::Distance& d : distances) {
                behind += d.relative > d.of_pytorch;
                far += d.relative > 2e-5;
            }
            compared += distances.size();
            const Worst w = worst_of(distances);
            const bool gradient = c.in_pytorch && c.has_gradient;
            if (in_double)
                fmt::print("{:02}  {:33}  {:8}  {:>11}  {:>7}  {:>8}\n", c.chapter, c.name, checked,
                           cell(c.has_gradient, differences), cell(c.in_pytorch, w.forward),
                           cell(gradient, w.backward));
            else if (c.in_pytorch)
                fmt::print("{:02}  {:33}{:>7}  {:>8}  {:>7}  {:>8}\n", c.chapter, c.name,
                           cell(true, w.forward), cell(gradient, w.backward),
                           cell(true, w.pytorch_forward), cell(gradient, w.pytorch_backward));
            all_checked += checked;
            all_differences = std::max(all_differences, differences);
            all.forward = std::max(all.forward, w.forward);
            all.backward = std::max(all.backward, w.backward);
        }
        results.set("components", proof::components().size());
        results.set("checked", all_checked);
        results.set("compared", compared);
        results.set_varying("differences", all_differences);
        results.set_varying("forward", all.forward);
        results.set_varying("backward", all.backward);
        results.set_varying("far", far);
        results.set_varying("behind",
                            100 * static_cast<double>(behind) / static_cast<double>(compared));
    });
}
