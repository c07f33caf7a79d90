#include <cmath>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "lib/eigen.hpp"
#include "lib/program.hpp"
#include "lib/stopwatch.hpp"

using namespace abh;

namespace {
// [print]
void print(const std::string& name, std::span<const Real> row) {
    fmt::print("{:<34}", name);
    for (Real value : row) fmt::print(" {:8.4f}", std::abs(value) < 5e-5 ? 0 : value);
    fmt::print("\n");
}

double stddev(ConstMatrixMap m, Index row) {
    return std::sqrt((m.row(row).array() - m.row(row).mean()).square().mean());
}

/// Root of the mean of squares.
double size(const Tensor& t) {
    return std::sqrt(dot(t, t) / static_cast<double>(t.size()));
}
// [recipes]
/// A row normalised by one of the recipes in use.
Tensor normalize(const Tensor& x, bool unbiased, bool eps_outside) {
    const Real eps = Real(1e-5), n = static_cast<Real>(x.size() - (unbiased ? 1 : 0));
    const Real mean = vector(x).mean(), var = (vector(x).array() - mean).square().sum() / n;
    const Real divisor = eps_outside ? std::sqrt(var) + eps : std::sqrt(var + eps);
    Tensor z(x.shape());
    vector(z) = (vector(x).array() - mean) / divisor;
    return z;
}

void recipes(Results& results) {
    for (Real last : {Real(5), Real(1.004)}) {
        section(last == 5 ? "A row by hand" : "A row that is nearly constant");
        const Tensor x({4}, {1, 1, 1, last});
        const std::string row = last == 5 ? "" : "_flat";
        print("x", x.values());
        print("layer norm", LayerNorm(4).forward(x).values());
        for (bool unbiased : {false, true})
            for (bool outside : {false, true}) {
                const Tensor z = normalize(x, unbiased, outside);
                const std::string divided = unbiased ? "divided by n - 1" : "divided by n";
                print(divided + (outside ? ", eps outside" : ", eps inside"), z.values());
                results.set(fmt::format("z_{}{}{}", unbiased ? "unbiased" : "biased",
                                        outside ? "_outside" : "", row),
                            z(3));
            }
    }
}
// [backward by hand]
void backward_by_hand() {
    section("A gradient by hand");
    const Tensor x({4}, {1, 1, 1, 5});
    LayerNorm norm(4, {.learned = false});
    LayerNorm::Cache cache;
    print("x", x.values());
    print("y", norm.forward(x, &cache).values());
    for (const Tensor& dy : {Tensor({4}, {1, 0, 0, 0}), Tensor({4}, {0, 0, 0, 1})}) {
        print("dy", dy.values());
        print("dx", norm.backward(dy, cache).values());
    }
}
// [paths]
using Row = Eigen::ArrayXd;

Row normalized(const Row& x) {
    return (x - x.mean()) / std::sqrt((x - x.mean()).square().mean() + 1e-5);
}

/// The three terms of the backward pass, switched on one after the other, in double precision
/// against central differences of <normalized(x), dy>: once with dy of ones, once with a random dy.
void paths(Program& program) {
    section("The three paths of the gradient");
    Random random(program.seed());
    const Tensor a = normal({7}, random.stream()), b = normal({7}, random.stream());
    const Row x = vector(a).cast<double>(), z = normalized(x);
    const double s = std::sqrt((x - x.mean()).square().mean() + 1e-5), step = 1e-5;
    fmt::print("{:<30} {:>12} {:>12}\n", "largest error with dy", "all ones", "random");
    const std::vector<std::string> names = {"directly", "and through the mean",
                                            "and through the variance"};
    for (std::size_t terms = 0; terms < 3; ++terms) {
        fmt::print("{:<30}", names[terms]);
        for (bool ones : {true, false}) {
            const Row dy = ones ? Row::Ones(7).eval() : Row(vector(b).cast<double>().array());
            Row dx = dy, moved = x;
            if (terms >= 1) dx -= dy.mean();
            if (terms >= 2) dx -= z * (dy * z).mean();
            dx /= s;
            double worst = 0;
            for (Index i = 0; i < 7; ++i) {
                moved(i) = x(i) + step;
                const double right = (normalized(moved) * dy).sum();
                moved(i) = x(i) - step;
                const double left = (normalized(moved) * dy).sum();
                moved(i) = x(i);
                worst = std::max(worst, std::abs(dx(i) - (right - left) / (2 * step)));
            }
            fmt::print(" {:12.1e}", worst);
            program.results().set_varying(
                fmt::format("paths_{}_{}", terms + 1, ones ? "ones" : "random"), worst);
        }
        fmt::print("\n");
    }
}
// [sentence]
/// The running example through one feed-forward sublayer: its rows before and after the norm, post
/// and pre, with plain or with scaled embeddings.
void sentence(Program& program, Index d_model, Index d_ff, bool scaled) {
    section(scaled ? "The same with the embedding times sqrt(d_model)"
                   : "Rows before and after the norm");
    const Ids ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});
    const LayerNormOptions fixed{.learned = false};
    Random random(program.seed());
    const Embedding embedding(11, d_model, {.scale = scaled}, random);
    const PositionalEncoding positions(d_model, {}, random);
    const FeedForward sublayer(d_model, d_ff, false, random);
    const AddNorm post(d_model, {.placement = NormPlacement::post, .norm = fixed}, random);
    const AddNorm pre(d_model, {.placement = NormPlacement::pre, .norm = fixed}, random);

    const Tensor x = positions.forward(embedding.forward(ids));  // [1, 8, d_model]
    const Tensor sum = x + sublayer.forward(x);
    const Tensor y_post = post.after(x, sublayer.forward(post.before(x)));
    const Tensor h = pre.before(x);
    const Tensor y_pre = pre.after(x, sublayer.forward(h));

    fmt::print("{:<10} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "stddev of", "x", "x + s(x)", "y, post",
               "norm(x)", "y, pre");
    const char* words[] = {"我", "有", "一", "个", "好", "朋", "友", "P"};
    for (Index r = 0; r < 8; ++r) {
        fmt::print("{:<10}", words[r]);
        for (const Tensor* t : {&x, &sum, &y_post, &h, &y_pre})
            fmt::print(" {:9.4f}", stddev(matrix(*t), r));
        fmt::print("\n");
    }
    const std::string kind = scaled ? "_scaled" : "_plain";
    program.results().set("stddev_before" + kind, stddev(matrix(sum), 4));
    program.results().set("stddev_after" + kind, stddev(matrix(y_post), 4));
    program.results().array("before" + kind, sum.reshape({8, d_model}));
    program.results().array("after" + kind, y_post.reshape({8, d_model}));
}
// [learned]
void learned(Program& program, Index d_model) {
    section("Fixed and learned");
    Random random(program.seed());
    LayerNorm fixed(d_model, {.learned = false}), trained(d_model);
    const Tensor x = normal({8, d_model}, random.stream());
    fmt::print("parameters: fixed {}, learned {}\n", count_elements(parameters_of(fixed)),
               count_elements(parameters_of(trained)));
    const double start = max_difference(fixed.forward(x), trained.forward(x));
    fmt::print("largest difference before training: {}\n", start);
    trained.gain.value.fill(3);
    trained.shift.value.fill(2);
    const Tensor y = trained.forward(x);
    fmt::print("gain 3, shift 2: row 1 has mean {:.3f}, stddev {:.3f}\n", matrix(y).row(0).mean(),
               stddev(matrix(std::as_const(y)), 0));
    program.results().set("learned_start_difference", start);
}
// [feed-forward]
void feed_forward(Program& program, Index d_model, Index d_ff) {
    section("Feed-forward");
    Random random(program.seed());
    FeedForward plain(d_model, d_ff, false, random), with_bias(d_model, d_ff, true, random);
    const Tensor x = normal({1, 8, d_model}, random.stream());
    FeedForward::Cache cache;
    const Tensor y = plain.forward(x, &cache), before = plain.first.forward(x);
    const double zeros = static_cast<double>((vector(cache.hidden).array() == 0).count()) /
                         static_cast<double>(8 * d_ff);
    const double variance = size(y) * size(y);
    fmt::print("parameters: {} without biases, {} with\n", count_elements(parameters_of(plain)),
               count_elements(parameters_of(with_bias)));
    fmt::print("{:.1f} % of the hidden numbers are zero\n", 100 * zeros);
    fmt::print("mean square of the result: {:.4f}, expected 1/18 = {:.4f}\n", variance, 1.0 / 18);

    Tensor other = x.clone();
    matrix(other).row(4).array() += 1;
    const Tensor changed = plain.forward(other);
    fmt::print("word 5 changed; largest change by word:");
    for (Index r = 0; r < 8; ++r)
        fmt::print(" {:.2f}", (matrix(changed) - matrix(y)).row(r).cwiseAbs().maxCoeff());
    fmt::print("\n");
    program.results().set("zeros", 100 * zeros);
    program.results().set("variance", variance);
    program.results().array("relu_before", before.reshape({8, d_ff}));
    program.results().array("relu_after", cache.hidden.reshape({8, d_ff}));
}
// [stack]
/// A stack of feed-forward sublayers, each in its residual connection.
struct Stack {
    Stack(Index depth, NormPlacement placement, Index d_model, Random& random) : last(d_model) {
        const AddNormOptions options{.placement = placement};
        for (Index i = 0; i < depth; ++i) {
            norms.emplace_back(d_model, options, random);
            layers.emplace_back(d_model, 4 * d_model, false, random);
        }
    }

    std::vector<AddNorm> norms;
    std::vector<FeedForward> layers;
    LayerNorm last;  ///< with the norm before the sublayers, one more stands at the end
};

/// Size of the rows, and of the gradient with respect to them, after 0, 1, ..., depth layers; the
/// gradient once in full, once along the residual connections alone.
Tensor by_depth(Index depth, NormPlacement placement, Index d_model, std::uint64_t seed) {
    Random random(seed);
    Stack stack(depth, placement, d_model, random);
    Tensor x = normal({64, d_model}, random.stream());
    const Tensor dy = normal({64, d_model}, random.stream());
    Tensor sizes({3, depth + 1});

    std::vector<AddNorm::Cache> norm_caches(stack.norms.size());
    std::vector<FeedForward::Cache> caches(stack.layers.size());
    LayerNorm::Cache last;
    sizes(0, 0) = static_cast<Real>(size(x));
    for (std::size_t i = 0; i < caches.size(); ++i) {
        const Tensor h = stack.norms[i].before(x, &norm_caches[i]);
        x = stack.norms[i].after(x, stack.layers[i].forward(h, &caches[i]), &norm_caches[i]);
        sizes(0, i + 1) = static_cast<Real>(size(x));
    }
    const bool post = placement == NormPlacement::post;
    if (!post) stack.last.forward(x, &last);

    Tensor full = post ? dy : stack.last.backward(dy, last), residual = full;
    for (std::size_t i = caches.size();; --i) {
        sizes(1, i) = static_cast<Real>(size(full));
        sizes(2, i) = static_cast<Real>(size(residual));
        if (i == 0) return sizes;
        auto [dx, dh] = stack.norms[i - 1].after_backward(full, norm_caches[i - 1]);
        dh = stack.layers[i - 1].backward(dh, caches[i - 1]);
        full = dx + stack.norms[i - 1].before_backward(dh, norm_caches[i - 1]);
        residual = stack.norms[i - 1].after_backward(residual, norm_caches[i - 1]).dx;
    }
}

void stacks(Program& program, Index depth) {
    section("Post and pre in a deep stack");
    const Tensor post = by_depth(depth, NormPlacement::post, 256, program.seed());
    const Tensor pre = by_depth(depth, NormPlacement::pre, 256, program.seed());
    fmt::print("{:>6} {:>21} {:>21} {:>25}\n", "after", "size of a number", "size of its gradient",
               "along residuals alone");
    fmt::print("{:>6} {:>10} {:>10} {:>10} {:>10} {:>14} {:>10}\n", "layer", "post", "pre", "post",
               "pre", "post", "pre");
    for (Index i = 0; i <= depth; i += std::max<Index>(depth / 6, 1))
        fmt::print("{:>6} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>14.3f} {:>10.3f}\n", i,
                   post(0, i), pre(0, i), post(1, i), pre(1, i), post(2, i), pre(2, i));
    program.results().array("stack_post", post);
    program.results().array("stack_pre", pre);
    program.results().set("depth", static_cast<double>(depth));
    for (const auto& [name, sizes] : {std::pair{"post", post}, std::pair{"pre", pre}}) {
        program.results().set(fmt::format("{}_size", name), sizes(0, depth));
        program.results().set(fmt::format("{}_top", name), sizes(1, depth));
        program.results().set(fmt::format("{}_bottom", name), sizes(1, 0));
        program.results().set(fmt::format("{}_residual", name), sizes(2, 0));
    }
}
// [speed]
/// Dropout, sum and norm one after the other and in one pass; ReLU after the bias and with it.
void speed(Program& program) {
    section("Making it fast");
    Random random(program.seed()), same(program.seed());  // which drop the same elements
    AddNorm add_norm(512, {.dropout = Real(0.1)}, random);
    const Dropout dropout(Real(0.1), same);
    LayerNorm norm(512);
    const Linear map(512, 2048, true, random);
    const auto rows_of = [&] { return normal({64, 24, 512}, random.stream()); };
    const Tensor x = rows_of(), s = rows_of(), dy = rows_of();
    AddNorm::Cache cache;
    Dropout::Cache dropped;
    LayerNorm::Cache normed;
    Tensor y, fast_y, ds, fast_ds, h, fast_h;
    gain_header("64 sentences of 24 words, 512 columns");
    Results& results = program.results();
    show_gain(
        "dropout, sum, norm", "add_norm", 41,
        [&] { y = norm.forward(x + dropout.forward(s, &dropped), &normed); },
        [&] { fast_y = add_norm.after(x, s, &cache); }, results);
    show_gain(
        "  backward", "add_norm_backward", 41,
        [&] { ds = dropout.backward(norm.backward(dy, normed), dropped); },
        [&] { fast_ds = add_norm.after_backward(dy, cache).dsublayer; }, results);
    show_gain(
        "linear map to 2048 columns, ReLU", "relu", 5, [&] { h = relu(map.forward(x)); },
        [&] { fast_h = map.forward_relu(x); }, results);
    const double difference = std::max(
        {max_difference(y, fast_y), max_difference(ds, fast_ds), max_difference(h, fast_h)});
    fmt::print("largest difference {:.1e}\n", difference);
    results.set_varying("speed_difference", difference);
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Index d_model = 512, d_ff = 2048, depth = 48;
    Program program("Feed-forward, layer norm, and the residual connection around a sublayer.");
    program.app()
        .add_option("--d-model", d_model, "width of a word's vector")
        ->check(CLI::Range(1, 4096));
    program.app()
        .add_option("--d-ff", d_ff, "width of the hidden layer")
        ->check(CLI::Range(1, 16384));
    program.app()
        .add_option("--depth", depth, "layers of the deep stack")
        ->check(CLI::Range(1, 200));
    return program.run(argc, argv, [&] {
        recipes(program.results());
        backward_by_hand();
        paths(program);
        for (bool scaled : {false, true}) sentence(program, d_model, d_ff, scaled);
        learned(program, d_model);
        feed_forward(program, d_model, d_ff);
        stacks(program, depth);
        speed(program);
    });
}
