#pragma once

// Trials of the loss, and of whole Transformers without it and with it.
#include "chapters/09_training/loss/loss.hpp"
#include "chapters/09_training/model/transformer.hpp"
#include "lib/linear.hpp"
#include "tests/proof/layers.hpp"
#include "tests/proof/operations.hpp"

namespace abh::proof {

/// `dy` is the gradient with respect to the loss, `[1]`.
inline Maker cross_entropy_of(Real smoothing) {
    return [=](const Sizes& s, Random& source) {
        const Tensor logits = random({s.batch, s.length, s.tgt_words}, source);
        const Ids target = random_words(s.batch, s.length, s.tgt_words, source);
        return Trial{
            .inputs = {{"logits", logits}},
            .ids = {{"target", target}},
            .forward = with_cache<CrossEntropyCache>(
                [=](auto* cache) {
                    const double loss = cross_entropy(logits, target, {0, smoothing}, cache);
                    return Tensor::full({1}, static_cast<Real>(loss));
                },
                [](const Tensor& dy, const auto& cache) {
                    Tensor d = cross_entropy_backward(cache);
                    return Gradients{{"logits", d *= dy(0)}};
                })};
    };
}

/// The logits of a Transformer, or, with targets, the loss of them; `dy` is then `[1]`.
inline Trial trial_of(const std::shared_ptr<Transformer>& model, const Sentences& src,
                      const Sentences& tgt, const Ids& target = {}, Real smoothing = 0) {
    struct Caches {
        Transformer::Cache model;
        Linear::Cache output;
        CrossEntropyCache loss;
    };
    Trial trial{.ids = {{"src", src.ids}, {"tgt", tgt.ids}}, .parameters = parameters_of(*model)};
    const bool with_loss = !target.empty();
    if (with_loss) trial.ids["target"] = target;
    if (model->options().embedding.padding_id == 0)
        trial.padded = {model->src_embed.table.value, model->tgt_embed.table.value};
    trial.forward = with_cache<Caches>(
        [=](auto* caches) {
            const Tensor logits =
                model->output.forward(model->forward(src, tgt, &caches->model), &caches->output);
            if (!with_loss) return logits;
            const double loss = cross_entropy(logits, target, {0, smoothing}, &caches->loss);
            return Tensor::full({1}, static_cast<Real>(loss));
        },
        [=](const Tensor& dy, const auto& caches) {
            Tensor dlogits = with_loss ? cross_entropy_backward(caches.loss) : dy;
            if (with_loss) dlogits *= dy(0);
            model->backward(model->output.backward(dlogits, caches.output), caches.model);
            return Gradients();
        });
    return trial;
}

/// A Transformer of these options in other sizes.
inline Maker transformer(const TransformerOptions& options, bool with_loss = false,
                         Real smoothing = 0) {
    return [=](const Sizes& s, Random& source) {
        TransformerOptions o = options;
        o.src_words = o.tied == Tied::all ? s.tgt_words : s.src_words;
        o.tgt_words = s.tgt_words;
        o.n_encoder_layers = o.n_decoder_layers = s.n_layers;
        o.layer = sized(o.layer, s);
        o.positions.max_len = max_positions;
        const auto model = shaken(std::make_shared<Transformer>(o, source), source);
        const Ids src = random_words(s.batch, s.keys, o.src_words, source);
        const Ids tgt = random_words(s.batch, s.length, s.tgt_words, source);
        const Ids target = random_words(s.batch, s.length, s.tgt_words, source);
        return trial_of(model, src, tgt, with_loss ? target : Ids(), smoothing);
    };
}

}  // namespace abh::proof
