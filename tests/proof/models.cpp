#include <memory>
#include <vector>

#include "chapters/09_training/loss/loss.hpp"
#include "chapters/09_training/model/transformer.hpp"
#include "lib/linear.hpp"
#include "tests/proof/trials.hpp"

namespace abh::proof {

Maker cross_entropy_of(Real smoothing) {
    return [=](const Sizes& s, Random& source) {
        const Tensor logits = random({s.batch, s.length, s.tgt_words}, source);
        const Ids target = random_words(s.batch, s.length, s.tgt_words, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<CrossEntropyCache>();
            const double loss = cross_entropy(logits, target, {0, smoothing}, cache.get());
            return Pass{Tensor::full({1}, static_cast<Real>(loss)), [=](const Tensor& dy) {
                            Tensor d = cross_entropy_backward(*cache);
                            return Gradients{{"logits", d *= dy(0)}};
                        }};
        };
        return Trial{
            .inputs = {{"logits", logits}}, .ids = {{"target", target}}, .forward = forward};
    };
}

namespace {

TransformerOptions sized(TransformerOptions o, const Sizes& s) {
    o.src_words = o.tied == Tied::all ? s.tgt_words : s.src_words;
    o.tgt_words = s.tgt_words;
    o.n_encoder_layers = o.n_decoder_layers = s.n_layers;
    o.layer = sized(o.layer, s);
    o.positions.max_len = max_positions;
    return o;
}

std::vector<Tensor> padded_tables(const Transformer& model) {
    if (model.options().embedding.padding_id < 0) return {};
    return {model.src_embed.table.value, model.tgt_embed.table.value};
}

/// The logits, or the loss of them.
Maker model_of(const TransformerOptions& options, bool with_loss, Real smoothing = 0) {
    return [=](const Sizes& s, Random& source) {
        const auto model = shaken(std::make_shared<Transformer>(sized(options, s), source), source);
        const Ids src = random_words(s.batch, s.keys, model->options().src_words, source);
        const Ids tgt = random_words(s.batch, s.length, s.tgt_words, source);
        const Ids target = random_words(s.batch, s.length, s.tgt_words, source);
        struct Caches {
            Transformer::Cache model;
            Linear::Cache output;
            CrossEntropyCache loss;
        };
        const auto forward = [=] {
            const auto caches = std::make_shared<Caches>();
            const auto backward = [=](const Tensor& dlogits) {
                model->backward(model->output.backward(dlogits, caches->output), caches->model);
                return Gradients();
            };
            const Tensor logits =
                model->output.forward(model->forward(src, tgt, &caches->model), &caches->output);
            if (!with_loss) return Pass{logits, backward};
            const double loss = cross_entropy(logits, target, {0, smoothing}, &caches->loss);
            return Pass{Tensor::full({1}, static_cast<Real>(loss)), [=](const Tensor& dy) {
                            Tensor d = cross_entropy_backward(caches->loss);
                            return backward(d *= dy(0));
                        }};
        };
        Trial trial{.ids = {{"src", src}, {"tgt", tgt}},
                    .parameters = parameters_of(*model),
                    .padded = padded_tables(*model),
                    .forward = forward};
        if (with_loss) trial.ids["target"] = target;
        return trial;
    };
}

}  // namespace

Maker transformer(const TransformerOptions& options) {
    return model_of(options, false);
}

Maker loss_of(const TransformerOptions& options, Real smoothing) {
    return model_of(options, true, smoothing);
}

}  // namespace abh::proof
