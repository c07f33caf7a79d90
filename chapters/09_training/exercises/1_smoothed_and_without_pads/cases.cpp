#include "judge/answer/cases.hpp"

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/09_training/loss/loss.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Tensor one(double x) {
    return Tensor({1}, {static_cast<Real>(x)});
}

/// The book's loss and its gradient.
double loss_of(const Tensor& z, const Ids& targets, Real smoothing, std::int32_t ignore) {
    return cross_entropy(z.reshape({1, z.dim(0), z.dim(1)}), targets.reshape({1, targets.size()}),
                         {ignore, smoothing});
}

Tensor gradient_of(const Tensor& z, const Ids& targets, Real smoothing, std::int32_t ignore) {
    CrossEntropyCache cache;
    cross_entropy(z.reshape({1, z.dim(0), z.dim(1)}), targets.reshape({1, targets.size()}),
                  {ignore, smoothing}, &cache);
    return cross_entropy_backward(cache).reshape(z.shape());
}

Tensor times(const Tensor& x, double factor) {
    Tensor y = x.clone();
    y *= static_cast<Real>(factor);
    return y;
}

void add(Cases& cases, const char* criterion, const Tensor& z, const Ids& targets, Real smoothing,
         std::int32_t ignore, bool gradient) {
    const Index n = z.dim(1), all = targets.size();
    Index counted = 0;
    for (const std::int32_t target : targets.values()) counted += target != ignore;
    const double share = static_cast<double>(counted) / static_cast<double>(all);
    const double loss = loss_of(z, targets, smoothing, ignore);
    const Real others = smoothing * static_cast<Real>(n) / static_cast<Real>(n > 1 ? n - 1 : 1);
    Case c{.criterion = criterion,
           .call = "cross_entropy",
           .arguments = values(z, targets, smoothing, ignore),
           .results = values(loss),
           .about = fmt::format("logits {}, smoothing {}, {} of {} targets count", z.shape(),
                                smoothing, counted, all),
           .names = {"logits", "targets", "smoothing", "ignore", "the loss"},
           .constants = {{"the number of targets that count", static_cast<double>(counted)},
                         {"the number of all targets", static_cast<double>(all)}}};
    const double right_word = loss_of(z, targets, 0, ignore);
    double without = 0;  // the sum over all rows, pads included
    for (Index r = 0; r < all; ++r)
        without += loss_of(z.rows(r, r + 1), targets.rows(r, r + 1), smoothing, -1);
    c.mistakes = {{"the sum is divided by the number of all rows instead of those that count",
                   values(loss * share)},
                  {"the smoothed part is missing", values(right_word)},
                  {"the smoothed part of the loss is missing",
                   values((1 - static_cast<double>(smoothing)) * right_word)},
                  {"the pads count like words", values(without / static_cast<double>(all))}};
    if (smoothing > 0 && n > 1) {
        // the mean loss over all words, and over the wrong ones alone
        const double e = static_cast<double>(smoothing), words = static_cast<double>(n);
        const double even = (loss - (1 - e) * right_word) / e;
        const double wrong = (words * even - right_word) / (words - 1);
        c.mistakes.push_back({"each word gets the share e / (n - 1) instead of e / n",
                              values((1 - e) * right_word + e * words / (words - 1) * even)});
        c.mistakes.push_back(
            {"only the wrong words get a share of e, but the right one gets e / n, too",
             values((1 - e) * right_word + e * wrong)});
    }
    if (gradient) {
        const Tensor dz = gradient_of(z, targets, smoothing, ignore);
        require_close(
            dz, differences([&] { return one(loss_of(z, targets, smoothing, ignore)); }, z, one(1)),
            "dlogits");
        Tensor no_pads = gradient_of(z, targets, smoothing, -1);
        no_pads *= static_cast<Real>(1 / share);
        Tensor to_others = dz.clone(), wrong_alone = dz.clone(), p = softmax(z), bare = dz.clone();
        for (Index r = 0; r < all; ++r)
            for (Index j = 0; j < n && targets(r) != ignore; ++j) {
                const Real m = static_cast<Real>(counted), hit = j == targets(r);
                to_others(r, j) =
                    (p(r, j) - others / static_cast<Real>(n) - (1 - smoothing) * hit) / m;
                const Real share_of_wrong = others / static_cast<Real>(n);
                wrong_alone(r, j) = (p(r, j) - (hit > 0 ? 1 - smoothing : share_of_wrong)) / m;
                bare(r, j) = p(r, j) / m;
            }
        c.call = "cross_entropy_backward";
        c.results = values(dz);
        c.names.back() = "the gradient";
        c.mistakes = {{"it is divided by the number of all rows instead of those that count",
                       values(times(dz, share))},
                      {"rows of pads have a gradient", values(no_pads)},
                      {"each word gets the share e / (n - 1) instead of e / n", values(to_others)},
                      {"only the wrong words get a share of e, but the right one gets e / n, too",
                       values(wrong_alone)},
                      {"the smoothing is missing", values(gradient_of(z, targets, 0, ignore))},
                      {"this is p, but pi is not subtracted from it", values(bare)}};
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Tensor by_hand({3, 4}, {0, 2, 1, 0, 0, 1, 3, 0, 5, 5, 5, 5});
    const Ids and_pad({3}, {1, 2, 0});
    for (const bool gradient : {false, true}) {
        const char* const criterion = gradient ? "the gradient" : "the loss";
        for (const Real smoothing : {Real(0), Real(0.1)})
            for (const Index n : {2, 5})
                add(cases, criterion, cases.normal({4, n}), cases.ids({4}, n), smoothing, -1,
                    gradient);
        add(cases, criterion, cases.normal({1, 7}), cases.ids({1}, 7), Real(0.3), -1, gradient);
        for (const Real smoothing : {Real(0), Real(0.1)})
            add(cases, "pads", by_hand, and_pad, smoothing, 0, gradient);
        add(cases, "pads", cases.normal({6, 5}), Ids({6}, {3, 2, 4, 3, 0, 3}), Real(0.2), 3,
            gradient);
        Tensor large = cases.uniform({3, 4}, -9, 9);
        for (Index r = 0; r < 3; ++r)
            for (Index n = 0; n < 4; ++n) large(r, n) += static_cast<Real>(1000 * (r - 1));
        add(cases, "large logits", large, cases.ids({3}, 4), Real(0.1), -1, gradient);
        add(cases, "large logits", cases.uniform({3, 4}, -900, 900), cases.ids({3}, 4), Real(0.1),
            -1, gradient);
    }
}
