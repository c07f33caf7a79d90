#include <algorithm>
#include <array>
#include <cmath>

#include "chapters/09_training/data/grammar.hpp"
#include "chapters/12_where_the_time_goes/limits.hpp"
#include "chapters/15_language_model/published_commands.hpp"
#include "chapters/15_language_model/sample.hpp"
#include "chapters/15_language_model/training.hpp"
#include "lib/eigen.hpp"
#include "lib/io/files.hpp"
#include "lib/matmul.hpp"

namespace abh {
// [speed]
namespace {

using enum NumberKind;
constexpr std::array kinds{f32, bf16, q8_0, q4_1, q4_0};

/// How many of a model's numbers in matrices are other ones in another model, in percent.
double changed(Llama a, Llama b) {
    double different = 0, all = 0;
    const Parameters of_a = parameters_of(a), of_b = parameters_of(b);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
        const auto& [w, v] = std::pair(of_a[i].parameter->stored, of_b[i].parameter->stored);
        if (!w) continue;
        const Tensor x = w->read_rows(0, w->d_out()), y = v->read_rows(0, v->d_out());
        different += static_cast<double>((vector(x).array() != vector(y).array()).count());
        all += static_cast<double>(x.size());
    }
    return 100 * different / all;
}

/// The perplexity of a text whose pieces are read one by one, as they are when a text is generated.
double perplexity_by_pieces(const Llama& model, std::span<const std::int32_t> text) {
    Continuation before(model, std::ssize(text));
    double sum = 0;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
        const Tensor logits = before.next(text.subspan(i, 1));
        const auto row = vector(logits).cast<double>().array();
        const double largest = row.maxCoeff();
        sum += largest + std::log((row - largest).exp().sum()) - row(text[i + 1]);
    }
    return std::exp(sum / static_cast<double>(text.size() - 1));
}

/// How fast a published model says 64 pieces, and how well it predicts a text, in different bits.
void show_speed(const Published& p, Results& results) {
    const Limits limits = measure_limits();
    results.set_varying("read", limits.read / 1e9, "GB/s");
    fmt::print("memory is read at {:.1f} GB/s\n", limits.read / 1e9);
    const std::vector<std::int32_t> text = p.tokenizer.encode(read_file(ABH_STORY));
    Table table(results, {{"", "<8"},
                          {"MB for a word", "8.1f", "{}_megabytes"},
                          varying("tokens a second", "8.1f", "{}_rate"),
                          varying("times F32", "8.1f", "{}_gain"),
                          varying("ms a token", "8.1f", "{}_time", "ms"),
                          varying("of them to read", "8.1f", "{}_reading", "ms"),
                          varying("the rest", "8.1f", "{}_rest", "ms"),
                          {"changed, %", "8.1f", "{}_changed"},
                          varying("perplexity", "8.3f", "{}_perplexity")});
    double first = 0;
    const auto row = [&](const std::string& key, const char* name, const Published& rounded) {
        Pace pace;
        said(rounded, {text.begin(), text.begin() + 8}, 64, pace);
        const double bytes = static_cast<double>(rounded.weight_bytes),
                     rate = static_cast<double>(pace.said) / pace.saying, time = 1000 / rate,
                     reading = 1000 * bytes / limits.read;
        if (first == 0) first = rate;
        table.row(key, name, bytes / 1e6, rate, rate / first, time, reading, time - reading,
                  changed(p.model, rounded.model),
                  std::exp(mean_surprise(rounded.model, text, std::ssize(text))));
        std::fflush(stdout);
    };
    for (const NumberKind kind : kinds) {
        Published rounded = p;
        rounded.weight_bytes = round_matrices(rounded.model, kind);
        row(format_of(kind).name, format_of(kind).name, rounded);
    }
    row("file", "file", p);
    const double by_pieces = perplexity_by_pieces(p.model, text);
    results.set_varying("by_pieces_perplexity", by_pieces);
    fmt::print("the file, piece by piece: perplexity {:.3f}\n", by_pieces);
}
// [other ways]
/// Rounds to 16 levels with one scale for each `together` numbers, as Q4_0 does for 32.
Tensor with_scale_for(Index together, const Tensor& w) {
    Tensor rounded = w.clone();
    for (Index i = 0; i < w.size(); i += together) {
        auto x = vector(rounded).segment(i, together).array();
        Index largest;
        x.abs().maxCoeff(&largest);
        const Real scale = x(largest) / -8;
        if (scale != 0) x = (x / scale).round().max(-8).min(7) * scale;
    }
    return rounded;
}

/// What comes of Q4_1 if a byte's two numbers are taken for neighbors.
Tensor with_neighbors(const Tensor& w) {
    Tensor mixed(w.shape());
    for (Index i = 0; i < w.size(); ++i)
        vector(mixed)(i) = vector(w)(i / 32 * 32 + i % 2 * 16 + i % 32 / 2);
    return mixed;
}

template <class F>
void change_matrices(Llama& model, const F& f) {
    for (const auto& [name, p] : parameters_of(model))
        if (p->stored) {
            const Tensor w = p->stored->read_rows(0, p->stored->d_out());
            p->stored = std::make_shared<BlockMatrix>(rounded_matrix(f(w), f32));
        }
    if (model.options().tied) model.output.weight = model.embed.table;
}

/// How well a published model predicts a text if its matrices have few scales, or are misread.
void show_other_ways(const Published& p, Results& results) {
    const std::vector<std::int32_t> text = p.tokenizer.encode(read_file(ABH_STORY));
    Table table(results, {{"", "<24"},
                          varying("cross entropy", "10.3f", "{}_entropy"),
                          varying("perplexity", "14.4g", "{}_perplexity")});
    const auto row = [&](const char* key, const char* name, const auto& f) {
        Llama model = p.model;
        change_matrices(model, f);
        const double entropy = mean_surprise(model, text, std::ssize(text));
        table.row(key, name, entropy, std::exp(entropy));
        std::fflush(stdout);
    };
    row("stored", "as in the file", [](const Tensor& w) { return w; });
    row("by_row", "one scale for a row",
        [](const Tensor& w) { return with_scale_for(w.dim(1), w); });
    row("by_matrix", "one scale for a matrix",
        [](const Tensor& w) { return with_scale_for(w.size(), w); });
    row("neighbors", "neighbors in a byte", with_neighbors);
    double outlier = 0;
    Llama same = p.model;
    change_matrices(same, [&](const Tensor& w) {
        const auto x = vector(w);
        outlier = std::max<double>(
            outlier, x.cwiseAbs().maxCoeff() / x.norm() * std::sqrt(static_cast<Real>(w.size())));
        return w;
    });
    fmt::print("the largest number of a matrix: up to {:.0f} times its root mean square\n",
               outlier);
    results.set_varying("outlier", outlier);
}
// [errors]
/// The root mean square of `x - y` over that of `x`, in percent.
double error_of(const Tensor& x, const Tensor& y) {
    return 100 * static_cast<double>((vector(x) - vector(y)).norm() / vector(x).norm());
}

/// Rounds normal numbers, and multiplies them by others that are not rounded.
void show_errors(Results& results) {
    Random random(1);
    const Tensor w = normal({576, 576}, random.stream()), x = normal({64, 576}, random.stream());
    const Tensor y = matmul(x, w, {.transpose_b = true});
    Table table(results, {{"", "<24"},
                          {"step", "8.4f", "{}_step"},
                          {"step / root of 12, %", "20.3f", "{}_by_step"},
                          {"number, %", "10.3f", "{}_number"},
                          {"dot product, %", "15.3f", "{}_product"}});
    const auto row = [&](const std::string& key, const char* name, Index together, double levels,
                         const Tensor& rounded) {
        double steps = 0;
        for (Index i = 0; i < w.size(); i += together) {
            const auto part = vector(w).segment(i, together);
            const Real least = part.minCoeff(), most = part.maxCoeff();
            const double reach = levels == 15 ? most - least : std::max(most, -least);
            steps += std::pow(reach / levels, 2) * static_cast<double>(together);
        }
        const double step = std::sqrt(steps / static_cast<double>(w.size())),
                     size = static_cast<double>(vector(w).norm()) / 576;
        table.row(key, name, step, 100 * step / std::sqrt(12) / size, error_of(w, rounded),
                  error_of(y, matmul(x, rounded, {.transpose_b = true})));
    };
    row("for_matrix", "4 bits, 331,776 together", w.size(), 8, with_scale_for(w.size(), w));
    row("for_row", "4 bits, 576 together", 576, 8, with_scale_for(576, w));
    for (const auto& [kind, levels] : {std::pair(q4_0, 8), {q4_1, 15}, {q8_0, 127}})
        row(format_of(kind).name, format_of(kind).name, 32, levels,
            rounded_matrix(w, kind).read_rows(0, 576));
}
// [grammar]
/// Rounds all matrices to numbers that blocks of this kind hold. Rows that are not whole blocks are
/// filled up with zeros for that.
void round_values(Llama& model, NumberKind kind) {
    const Index step = format_of(kind).numbers;
    for (const auto& [name, p] : parameters_of(model)) {
        if (p->value.rank() != 2) continue;
        const Index rows = p->value.dim(0), columns = p->value.dim(1);
        Tensor filled = Tensor::zeros({rows, ceil_div(columns, step) * step});
        matrix(filled).leftCols(columns) = matrix(p->value);
        const Tensor rounded = rounded_matrix(filled, kind).read_rows(0, rows);
        p->value = Tensor({rows, columns});
        matrix(p->value) = matrix(rounded).leftCols(columns);
    }
    if (model.options().tied) model.output.weight = model.embed.table;
}

/// What rounding costs models that were trained in single precision.
void show_rounded(Index seeds, Results& results) {
    const Corpus corpus = grammar_corpus();
    Table table(results, {{"", "<8"},
                          {"bits", "6.1f", "{}_bits"},
                          varying("loss", "8.5f", "{}_loss"),
                          varying("more than F32, least", "8.5f", "{}_least"),
                          varying("most", "8.5f", "{}_most"),
                          varying("lines right", "8", "{}_right")});
    std::vector<Trained> models;
    std::vector<double> exact;
    for (Index seed = 1; seed <= seeds; ++seed)
        models.push_back(trained(static_cast<std::uint64_t>(seed)));
    for (const NumberKind kind : kinds) {
        double loss = 0, least = 0, most = 0;
        Index right = 0;
        for (std::size_t i = 0; i < models.size(); ++i) {
            Llama model = models[i].model;
            round_values(model, kind);
            const Evaluation found = evaluate_lines(model, models[i].words, corpus.held_out);
            if (kind == f32) exact.push_back(found.loss);
            const double more = found.loss - exact[i];
            least = i == 0 ? more : std::min(least, more);
            most = i == 0 ? more : std::max(most, more);
            loss += found.loss / static_cast<double>(models.size());
            right += found.exact;
        }
        const BlockFormat& f = format_of(kind);
        table.row(fmt::format("grammar_{}", f.name), f.name,
                  8 * static_cast<double>(f.bytes) / static_cast<double>(f.numbers), loss, least,
                  most, right);
        std::fflush(stdout);
    }
    results.set("grammar_lines", seeds * std::ssize(corpus.held_out));
}

}  // namespace
// [bits]
void show_bits(const Published& p, Results& results) {
    fmt::print("== Errors of normal numbers ==\n");
    show_errors(results);
    fmt::print("\n== A published model ==\n");
    show_speed(p, results);
    fmt::print("\n== Other ways ==\n");
    show_other_ways(p, results);
    fmt::print("\n== Models of the grammar ==\n");
    show_rounded(5, results);
}

}  // namespace abh
