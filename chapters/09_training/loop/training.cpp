#include "chapters/09_training/loop/training.hpp"

#include <algorithm>
#include <cmath>

#include "chapters/09_training/data/batches.hpp"
#include "chapters/09_training/loss/argmax.hpp"

namespace abh {
// [steps]
namespace {

void check(const TrainingOptions& o) {
    require(o.epochs >= 1 && o.epochs <= 1'000'000, "train: {} epochs, expected 1 to 1,000,000",
            o.epochs);
    require(o.batch_size >= 1, "train: batches of {} pairs, expected at least 1", o.batch_size);
    require(o.optimizer == "sgd" || o.optimizer == "adam" || o.optimizer == "adamw",
            "train: unknown optimizer {}, expected sgd, adam or adamw", o.optimizer);
    require(o.learning_rate > 0 && std::isfinite(o.learning_rate),
            "train: learning rate {}, expected more than 0", o.learning_rate);
    require(o.momentum >= 0 && o.momentum < 1, "train: momentum {}, expected 0 <= momentum < 1",
            o.momentum);
    require(o.weight_decay >= 0 && std::isfinite(o.weight_decay),
            "train: weight decay {}, expected 0 or more", o.weight_decay);
    require(o.beta2 >= 0 && o.beta2 < 1, "train: beta2 {}, expected 0 <= beta2 < 1", o.beta2);
    require(o.warmup >= 0, "train: warm-up of {} steps, expected 0 or more", o.warmup);
    require(o.smoothing >= 0 && o.smoothing < 1, "train: smoothing {}, expected 0 <= smoothing < 1",
            o.smoothing);
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const Parameters& parameters, const TrainingOptions& o) {
    check(o);
    if (o.optimizer == "sgd") return std::make_unique<Sgd>(parameters, o.momentum);
    const Real weight_decay = o.optimizer == "adamw" ? o.weight_decay : 0;
    return std::make_unique<Adam>(parameters,
                                  AdamOptions{.beta2 = o.beta2, .weight_decay = weight_decay});
}

Index count_steps(const Corpus& corpus, const TrainingOptions& options) {
    check(options);
    require(!corpus.train.empty(), "train: there is no pair to train on");
    const Index pairs = static_cast<Index>(corpus.train.size());
    const Index size = std::min(options.batch_size, pairs);
    return options.epochs * ((pairs + size - 1) / size);
}
// [trainer]
Trainer::Trainer(Transformer& model, const TrainingOptions& options)
    : Trainer(model, options, make_optimizer(parameters_of(model), options)) {}

Trainer::Trainer(Transformer& model, const TrainingOptions& options,
                 std::unique_ptr<Optimizer> optimizer)
    : model_(model),
      parameters_(parameters_of(model)),
      optimizer_(std::move(optimizer)),
      smoothing_(options.smoothing) {}

/// The options of the loss, whose sum is divided by `n_targets`.
CrossEntropyOptions Trainer::loss_of(Index n_targets) const {
    return {model_.options().pad, smoothing_, n_targets};
}
// [step]
void Trainer::begin() {
    zero_grad(parameters_);
}

double Trainer::add_part(const Batch& batch, Index n_targets, Index part) {
    model_.random().begin_part(part);  // dropout drops other elements in each part
    const Tensor y = model_.forward(batch.source, batch.target_in, &cache_);  // [B, Lt, d_model]
    const double loss =
        vocabulary_loss(y, model_.output, batch.targets, loss_of(n_targets), &loss_cache_);
    model_.backward(vocabulary_loss_backward(model_.output, loss_cache_), cache_);
    return loss;
}

void Trainer::update(Real learning_rate) {
    optimizer_->step(learning_rate);
    model_.random().next_step();
}
// [step: whole]
double Trainer::step(const Batch& batch, Real learning_rate) {
    begin();
    const double loss = add_part(batch, batch.n_targets, 0);
    require_finite(loss);
    update(learning_rate);
    return loss;
}
// [finite]
void Trainer::require_finite(double loss) const {
    if (std::isfinite(loss)) return;
    throw std::runtime_error(
        fmt::format("train: the loss of step {} is not finite; try a smaller learning rate",
                    optimizer_->steps() + 1));
}
// [train]
void train(Transformer& model, const Corpus& corpus, const TrainingOptions& options,
           const std::function<void(const StepReport&)>& report) {
    count_steps(corpus, options);  // throws if an option is wrong
    const Stream of_pairs = model.random().stream(), of_batches = model.random().stream();
    Batches batches(corpus.train, options.batch_size, options.bucket_by_length);
    Trainer trainer(model, options);
    Index step = 0;
    for (Index epoch = 1; epoch <= options.epochs; ++epoch) {
        batches.draw(of_pairs, of_batches);  // a new order for every epoch
        for (Index i = 0; i < batches.count(); ++i) {
            const Real rate = learning_rate(++step, options.learning_rate, options.warmup);
            const double loss = trainer.step(make_batch(corpus, corpus.train, batches[i]), rate);
            report({epoch, step, loss, rate});
        }
    }
}
// [evaluate]
Evaluation evaluate(const Transformer& model, const Corpus& corpus,
                    std::span<const SentencePair> pairs) {
    constexpr std::size_t at_once = 32;
    const std::int32_t pad = model.options().pad;
    Evaluation result;
    for (std::size_t first = 0; first < pairs.size(); first += at_once) {
        const auto some = pairs.subspan(first, std::min(at_once, pairs.size() - first));
        const Batch batch = make_batch(corpus, some);
        const Tensor logits = model.logits(batch.source, batch.target_in);  // a row for each target
        const double mean = cross_entropy(logits, batch.targets, {.ignore = pad});
        result.loss += mean * static_cast<double>(batch.n_targets);
        result.words += batch.n_targets;
        const BasicTensor<Prediction> choices = argmax(logits);
        for (std::size_t b = 0, row = 0; b < some.size(); ++b) {
            bool exact = true;
            for (Index left = batch.target_in.count(static_cast<Index>(b)); left > 0;
                 --left, ++row) {
                const std::int32_t likeliest = choices.values()[row].word,
                                   target = batch.targets.values()[row];
                exact = exact && (target == pad || target == likeliest);
            }
            result.exact += exact;
        }
    }
    result.loss /= static_cast<double>(std::max<Index>(result.words, 1));
    return result;
}

}  // namespace abh
