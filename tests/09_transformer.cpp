// The whole Transformer: gradients, what depends on what.
#include <cmath>
#include <utility>

#include "chapters/09_training/loss.hpp"
#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "tests/support.hpp"
#include "tests/transformers.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

void check_all_gradients(const TransformerOptions& options) {
    if (!in_double) return;
    Transformer model(options, Random(5));
    shake(model, model.random());
    Tensor dlogits = normal({2, 4, options.tgt_words}, model.random().stream());
    matrix(dlogits).bottomRows(2).setZero();  // pads, whose rows the loss leaves out
    const auto forward = [&] {
        Transformer::Cache unused;  // with a cache dropout acts, on the same elements each time
        return model.forward(example_src(), example_tgt(), &unused);
    };
    Transformer::Cache cache;
    model.forward(example_src(), example_tgt(), &cache);
    model.backward(dlogits, cache);
    const Following fast(Way::fast);  // thousands of forward passes; the gradients are the device's
    Index checked = 0;
    for (const NamedParameter& p : parameters_of(model)) {
        const GradientError e =
            check_gradient(forward, p.parameter->value, p.parameter->grad(), dlogits);
        INFO(p.name << ": " << to_string(e));
        CHECK(e.relative < 1e-6);
        checked += e.checked;
    }
    CHECK(checked > 500);
}

}  // namespace

TEST_CASE("every parameter's gradient agrees with differences, as in the toy") {
    check_all_gradients(toy_like());
}

TEST_CASE("every parameter's gradient agrees with differences, with biases and affine norm") {
    check_all_gradients(paper_like(NormPlacement::post));
}

TEST_CASE("every parameter's gradient agrees with differences, with the norm before") {
    check_all_gradients(paper_like(NormPlacement::pre));
}

TEST_CASE("every parameter's gradient agrees with differences, with shared heads") {
    check_all_gradients(shared_head_like());
}

TEST_CASE("pads that are left out change neither the rows of words nor any gradient") {
    for (TransformerOptions options : {toy_like(), paper_like(NormPlacement::post),
                                       paper_like(NormPlacement::pre), shared_head_like()}) {
        options.positions.dropout = 0;
        options.layer.add_norm.dropout = options.layer.add_norm.dropout_after_norm = 0;
        CAPTURE(to_json(options));
        Transformer padded(options, Random(5)), model(options, Random(5));
        const Ids src = example_src(), tgt = example_tgt();
        const Packed packed{leave_out_pads(tgt), leave_out_pads(src)};
        REQUIRE(packed.queries.rows() == 6);
        REQUIRE(packed.keys.rows() == 8);
        Transformer::Cache padded_cache, cache;
        const Tensor y = padded.forward_hidden(src, tgt, &padded_cache);
        const Tensor z = model.forward_hidden(src, tgt, &cache, nullptr, packed);
        CHECK(max_difference(z, pack(y, packed.queries)) < 10 * round_off);
        const Tensor dz = random_tensor(z.shape());
        padded.backward_hidden(unpack(dz, packed.queries), padded_cache);
        model.backward_hidden(dz, cache);
        const Parameters list = parameters_of(model), others = parameters_of(padded);
        for (std::size_t i = 0; i < list.size(); ++i) {
            CAPTURE(list[i].name);
            CHECK(max_difference(list[i].parameter->grad(), others[i].parameter->grad()) <
                  50 * round_off);
        }
        // a pass with pads after one without them
        model.forward_hidden(src, tgt, &cache);
        CHECK(cache.packed.empty());
    }
}

TEST_CASE("backward twice adds every gradient twice and leaves the cache alone") {
    Transformer model(paper_like(NormPlacement::post), Random(2));
    const Parameters parameters = parameters_of(model);
    Transformer::Cache cache;
    model.forward(example_src(), example_tgt(), &cache);
    const Tensor dlogits = normal({2, 4, model.options().tgt_words}, model.random().stream());
    model.backward(dlogits, cache);
    std::vector<Tensor> once;
    for (const NamedParameter& p : parameters) once.push_back(p.parameter->grad().clone());
    zero_grad(parameters);
    model.backward(dlogits, cache);  // from the same cache, the same bits
    for (std::size_t i = 0; i < once.size(); ++i)
        CHECK(same_bits(parameters[i].parameter->grad(), once[i]));
    model.backward(dlogits, cache);
    for (std::size_t i = 0; i < once.size(); ++i) {
        INFO(parameters[i].name);
        const double size = std::sqrt(dot(once[i], once[i]));
        CHECK(max_difference(parameters[i].parameter->grad(), once[i] + once[i]) <=
              round_off * (1 + size));
    }
}

TEST_CASE("a logit does not depend on later target words") {
    for (const auto& options : {toy_like(), paper_like(NormPlacement::pre), shared_head_like()}) {
        const Transformer model(options, Random(3));
        const Tensor logits = model.forward(example_src(), example_tgt());
        for (Index changed = 1; changed < 4; ++changed) {
            Ids tgt = example_tgt().clone();
            tgt(0, changed) = 7;
            const Tensor other = model.forward(example_src(), tgt);
            const auto row = [](const Tensor& x, Index t) {
                return matrix(x).row(t).eval();  // of the first sentence
            };
            for (Index t = 0; t < changed; ++t) CHECK(row(other, t) == row(logits, t));
            CHECK(row(other, changed) != row(logits, changed));
        }
    }
}

TEST_CASE("encode, then decode, is forward") {
    const Transformer model(toy_like(), Random(3));
    const Tensor memory = model.encode(example_src());
    CHECK(memory.shape() == Shape{2, 5, 6});
    const Tensor y = model.decode(example_tgt(), memory, example_src());
    CHECK(same_bits(y, model.forward_hidden(example_src(), example_tgt())));
    CHECK(same_bits(model.output.forward(y), model.forward(example_src(), example_tgt())));
}

TEST_CASE("dropout acts with a cache and not without") {
    Transformer model(toy_like(), Random(3));
    const Tensor still = model.forward(example_src(), example_tgt());
    CHECK(same_bits(model.forward(example_src(), example_tgt()), still));
    Transformer::Cache cache;
    const Tensor first = model.forward(example_src(), example_tgt(), &cache);
    CHECK_FALSE(same_bits(first, still));
    CHECK(same_bits(model.forward(example_src(), example_tgt(), &cache), first));
    model.random().next_step();
    CHECK_FALSE(same_bits(model.forward(example_src(), example_tgt(), &cache), first));
}

TEST_CASE("pads after the source change no logit") {
    for (const auto& options : {toy_like(), paper_like(NormPlacement::post), shared_head_like()}) {
        const Transformer model(options, Random(4));
        const Ids src({1, 3}, {1, 2, 3}), padded({1, 6}, {1, 2, 3, 0, 0, 0});
        const Ids tgt({1, 3}, {9, 1, 2});
        CHECK(max_difference(model.forward(src, tgt), model.forward(padded, tgt)) < round_off);
    }
}

TEST_CASE("pads in the target change neither the loss nor its gradient") {
    for (const Real smoothing : {Real(0), Real(0.1)})
        for (const bool mask : {false, true}) {
            TransformerOptions options = toy_like();
            options.mask_target_pads = mask;
            options.positions.dropout = 0;
            Transformer model(options, Random(4));
            const Parameters parameters = parameters_of(model);
            const auto run = [&](const Ids& tgt_in, const Ids& tgt_out) {
                Transformer::Cache cache;
                CrossEntropyCache loss_cache;
                const Tensor logits = model.forward(Ids({1, 3}, {1, 2, 3}), tgt_in, &cache);
                const double loss = cross_entropy(logits, tgt_out, {0, smoothing}, &loss_cache);
                zero_grad(parameters);
                model.backward(cross_entropy_backward(loss_cache), cache);
                std::vector<Tensor> gradients;
                for (const NamedParameter& p : parameters)
                    gradients.push_back(p.parameter->grad().clone());
                return std::pair(loss, gradients);
            };
            const auto [loss, gradients] = run(Ids({1, 3}, {9, 1, 2}), Ids({1, 3}, {1, 2, 10}));
            const auto [padded_loss, padded_gradients] =
                run(Ids({1, 6}, {9, 1, 2, 0, 0, 0}), Ids({1, 6}, {1, 2, 10, 0, 0, 0}));
            CHECK(padded_loss == Approx(loss).margin(round_off));
            for (std::size_t i = 0; i < gradients.size(); ++i)
                CHECK(max_difference(gradients[i], padded_gradients[i]) < round_off);
        }
}

TEST_CASE("a batch's loss is that of its sentences, each word counting the same") {
    Corpus corpus = empty_corpus();
    corpus.train = {{split_words("a b c"), split_words("x")},
                    {split_words("b"), split_words("y x y")}};
    const std::span<const SentencePair> pairs = corpus.train;
    for (const SentencePair& pair : pairs) add_words(corpus, pair);
    TransformerOptions options = toy_like();
    options.src_words = corpus.source.size();
    options.tgt_words = corpus.target.size();
    Transformer model(options, Random(4));
    const Evaluation both = evaluate(model, corpus, pairs);
    const Evaluation one = evaluate(model, corpus, pairs.first(1));
    const Evaluation two = evaluate(model, corpus, pairs.last(1));
    CHECK(one.words == 2);  // x and the end
    CHECK(two.words == 4);
    CHECK(both.words == 6);
    CHECK(both.loss == Approx((2 * one.loss + 4 * two.loss) / 6).margin(round_off));
    train(model, corpus, small_task().training, [](const StepReport&) {});
    CHECK(evaluate(model, corpus, pairs).exact == 2);  // pads are not asked for
}

TEST_CASE("a sentence longer than the model is an error") {
    TransformerOptions o = toy_like();
    o.positions.max_len = 4;
    const Transformer model(o, Random(1));
    CHECK_THROWS_WITH(model.encode(example_src()),
                      Contains("positional encoding") && Contains("asked for"));
}

TEST_CASE("every way has plain's logits and gradients of a Transformer, padded and packed") {
    for (const auto& [name, options] : std::vector<std::pair<const char*, TransformerOptions>>{
             {"toy", toy_like()},
             {"paper, post-norm", paper_like(NormPlacement::post)},
             {"paper, pre-norm", paper_like(NormPlacement::pre)},
             {"shared heads", shared_head_like()}})
        for (const bool packs : {false, true}) {
            INFO(name << (packs ? ", packed" : ", padded"));
            // Through every layer, forward and back, the orders of sums differ.
            const double bound = in_double ? way_bound : 10 * way_bound;
            same_in_every_way(
                [&, &options = options] {
                    Transformer model(options, Random(5));
                    shake(model, model.random());
                    const Ids src = example_src(), tgt = example_tgt();
                    const Packed packed =
                        packs ? Packed{leave_out_pads(tgt), leave_out_pads(src)} : Packed{};
                    Transformer::Cache cache;
                    const Tensor y = model.forward_hidden(src, tgt, &cache, nullptr, packed);
                    Linear::Cache output_cache;
                    const Tensor logits = model.output.forward(y, &output_cache);
                    const Tensor dlogits = random_tensor(logits.shape());
                    model.backward_hidden(model.output.backward(dlogits, output_cache), cache);
                    std::vector<Tensor> list{logits};
                    for (const NamedParameter& p : parameters_of(model))
                        list.push_back(p.parameter->grad());
                    return list;
                },
                bound);
        }
}
