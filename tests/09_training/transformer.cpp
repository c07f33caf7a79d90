// Per real and way: the whole Transformer: gradients, what depends on what.
#include <cmath>
#include <map>
#include <utility>

#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/loss/loss.hpp"
#include "chapters/09_training/optimizer/optimizer.hpp"
#include "lib/eigen.hpp"
#include "lib/fast/gradient.hpp"
#include "tests/gradients.hpp"
#include "tests/proof/models.hpp"
#include "tests/transformers.hpp"

using namespace abh;

namespace {

/// Adds the gradients of all parameters, the last map's among them. @return the logits
template <class Dlogits>
Tensor backward(Transformer& model, const Sentences& src, const Sentences& tgt,
                const Dlogits& dlogits_of) {
    Transformer::Cache cache;
    Linear::Cache of_output;
    const Tensor logits = model.output.forward(model.forward(src, tgt, &cache), &of_output);
    model.backward(model.output.backward(dlogits_of(logits), of_output), cache);
    return logits;
}

}  // namespace

TEST_CASE("every parameter's gradient agrees with differences, padded and packed, and adds up") {
    TransformerOptions bare = marian_like(Tied::all);
    bare.layer.add_norm.placement = NormPlacement::pre;
    bare.output_bias = false;
    for (const TransformerOptions& options :
         {toy_like(), paper_like(NormPlacement::post), paper_like(NormPlacement::pre),
          shared_head_like(), marian_like(Tied::all), marian_like(Tied::target), bare}) {
        CAPTURE(to_json(options));
        for (const bool packs : {false, true}) {
            Sentences src = example_src(), tgt = example_tgt();
            if (packs) src.packing = leave_out_pads(src.ids);
            if (packs) tgt.packing = leave_out_pads(tgt.ids);
            const auto model = std::make_shared<Transformer>(options, Random(5));
            // Through every layer, forward and back, the orders of sums differ.
            const double bound = in_double ? way_bound : 10 * way_bound;
            check_trial(proof::trial_of(proof::shaken(model, model->random()), src, tgt),
                        Random(10), bound);
        }
    }
}

TEST_CASE("pads that are left out change neither the rows of words nor any gradient") {
    for (TransformerOptions options :
         {toy_like(), paper_like(NormPlacement::post), paper_like(NormPlacement::pre),
          shared_head_like(), marian_like()}) {
        options.positions.dropout = 0;
        options.layer.add_norm.dropout = options.layer.add_norm.dropout_after_norm = 0;
        CAPTURE(to_json(options));
        Transformer padded(options, Random(5)), model(options, Random(5));
        const Ids src = example_src(), tgt = example_tgt();
        const Packing sources = leave_out_pads(src), targets = leave_out_pads(tgt);
        REQUIRE(targets.rows() == 6);
        REQUIRE(sources.rows() == 8);
        Transformer::Cache padded_cache, cache;
        const Tensor y = padded.forward(src, tgt, &padded_cache);
        const Tensor z = model.forward({src, sources}, {tgt, targets}, &cache);
        CHECK(max_difference(z, pack(y, targets)) < 10 * round_off);
        const Tensor dz = random_tensor(z.shape());
        padded.backward(unpack(dz, targets), padded_cache);
        model.backward(dz, cache);
        const Parameters list = parameters_of(model), others = parameters_of(padded);
        for (std::size_t i = 0; i < list.size(); ++i) {
            CAPTURE(list[i].name);
            CHECK(max_difference(list[i].parameter->grad(), others[i].parameter->grad()) <
                  50 * round_off);
        }
        // a pass with pads after one without them
        model.forward(src, tgt, &cache);
        CHECK(cache.src.empty());
        CHECK(cache.tgt.empty());
    }
}

TEST_CASE("a logit does not depend on later target words") {
    for (const auto& options :
         {toy_like(), paper_like(NormPlacement::pre), shared_head_like(), marian_like()}) {
        const Transformer model(options, Random(3));
        const Tensor logits = model.logits(example_src(), example_tgt());
        for (Index changed = 1; changed < 4; ++changed) {
            Ids tgt = example_tgt().clone();
            tgt(0, changed) = 7;
            const Tensor other = model.logits(example_src(), tgt);
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
    CHECK(same_bits(y, model.forward(example_src(), example_tgt())));
    CHECK(same_bits(model.output.forward(y), model.logits(example_src(), example_tgt())));
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

TEST_CASE("pads in the target change neither the loss nor its gradient") {
    for (const Real smoothing : {Real(0), Real(0.1)})
        for (const bool mask : {false, true}) {
            TransformerOptions options = toy_like();
            options.mask_target_pads = mask;
            options.positions.dropout = 0;
            Transformer model(options, Random(4));
            const Parameters parameters = parameters_of(model);
            const auto run = [&](const Ids& tgt_in, const Ids& tgt_out) {
                double loss = 0;
                zero_grad(parameters);
                backward(model, Ids({1, 3}, {1, 2, 3}), tgt_in, [&](const Tensor& logits) {
                    CrossEntropyCache cache;
                    loss = cross_entropy(logits, tgt_out, {0, smoothing}, &cache);
                    return cross_entropy_backward(cache);
                });
                return std::pair(loss, with_gradients({}, model));
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

// Tied tables ---------------------------------------------------------------------------------

namespace {

/// Sizes at which fast ways keep the factors of the last map's gradient.
TransformerOptions wide(Tied tied) {
    TransformerOptions o = marian_like(tied);
    o.src_words = o.tgt_words = 300;
    o.layer.attention.d_model = 66;
    o.positions.dropout = o.layer.add_norm.dropout = 0;
    return o;
}

std::map<std::string, Tensor> gradients(Transformer& model) {
    zero_grad(parameters_of(model));
    backward(model, example_src(), example_tgt(), [](const Tensor& logits) {
        CrossEntropyCache cache;
        cross_entropy(logits, Ids({2, 4}, {1, 2, 3, 299, 4, 7, 0, 0}), {.smoothing = Real(0.1)},
                      &cache);
        return cross_entropy_backward(cache);
    });
    std::map<std::string, Tensor> found;
    for (const auto& [name, p] : parameters_of(model)) found[name] = p->grad().clone();
    return found;
}

}  // namespace

TEST_CASE("the gradient of one table for all is the sum of those of three") {
    REQUIRE(fast::worth_keeping(8, 300, 66));
    Transformer three(wide(Tied::none), Random(7)), two(wide(Tied::target), Random(8)),
        one(wide(Tied::all), Random(9));
    const Tensor table = one.src_embed.table.value;
    for (Parameter* p : {&three.src_embed.table, &three.tgt_embed.table, &three.output.weight,
                         &two.src_embed.table, &two.tgt_embed.table})
        p->assign(table);
    for (Transformer* other : {&three, &two})
        for (const auto& [name, p] : parameters_of(*other))
            for (const auto& [same, own] : parameters_of(one))
                if (same == name) p->assign(own->value);
    const auto g3 = gradients(three), g2 = gradients(two), g1 = gradients(one);
    REQUIRE(g3.size() == g1.size() + 2);
    REQUIRE(g2.size() == g1.size() + 1);
    const Tensor at_both_ends = g3.at("tgt_embed.weight") + g3.at("output.weight");
    CHECK(agree(g2.at("tgt_embed.weight"), at_both_ends, round_off));
    CHECK(agree(g2.at("src_embed.weight"), g3.at("src_embed.weight"), round_off));
    CHECK(agree(g1.at("src_embed.weight"), at_both_ends + g3.at("src_embed.weight"), round_off));
    for (const auto& [name, g] : g1)
        if (name != "src_embed.weight") CHECK(agree(g3.at(name), g, round_off));
}

TEST_CASE("a shared table is listed once, and moves once in a step") {
    const auto names = [](Tied tied) {
        Transformer model(wide(tied), Random(7));
        std::string text;
        for (const auto& [name, p] : parameters_of(model))
            if (p->value.shape() == Shape{300, 66}) text += name + " ";
        return text;
    };
    CHECK(names(Tied::none) == "src_embed.weight tgt_embed.weight output.weight ");
    CHECK(names(Tied::target) == "src_embed.weight tgt_embed.weight ");
    CHECK(names(Tied::all) == "src_embed.weight ");

    Transformer model(wide(Tied::all), Random(7));
    const Tensor before = model.output.weight.value.clone(),
                 g = gradients(model)["src_embed.weight"];
    Sgd sgd(parameters_of(model), 0);
    sgd.step(Real(0.5));
    Tensor expected(before.shape());
    vector(expected) = vector(before) - Real(0.5) * vector(g);
    for (const Tensor& table :
         {model.src_embed.table.value, model.tgt_embed.table.value, model.output.weight.value})
        CHECK(max_difference(table, expected) < round_off);
}

TEST_CASE("tied tables start with deviation 1 / sqrt(d_model), others with that of the options") {
    const auto deviation = [](const Tensor& t) {
        return std::sqrt(dot(t, t) / static_cast<double>(t.size()));
    };
    const double narrow = 1 / std::sqrt(66.0);  // of 19,800 numbers: known to half a percent
    for (Tied tied : {Tied::target, Tied::all}) {
        const Transformer model(wide(tied), Random(3));
        CHECK(deviation(model.src_embed.table.value) == Approx(narrow).epsilon(0.02));
        CHECK(deviation(model.output.weight.value) == Approx(narrow).epsilon(0.02));
    }
    for (const Real given : {Real(1), Real(0.5)}) {
        TransformerOptions o = wide(Tied::none);
        o.embedding.deviation = given;
        const Transformer model(o, Random(3));
        CHECK(deviation(model.src_embed.table.value) == Approx(given).epsilon(0.02));
        CHECK(deviation(model.tgt_embed.table.value) == Approx(given).epsilon(0.02));
    }
}

TEST_CASE(
    "the models of the four source texts start as their sources do, that of the grammar narrow") {
    for (const TransformerOptions& o :
         {TransformerOptions::toy(), TransformerOptions::notebook(), TransformerOptions::article(),
          TransformerOptions::shared_heads()})
        CHECK(o.embedding.deviation == 1);
    const TransformerOptions o = grammar_task().model;
    CHECK(o.embedding.scale);
    CHECK(o.embedding.deviation == Approx(1 / std::sqrt(128.0)));
}

TEST_CASE("tables that cannot be one, or no longer are, are refused") {
    TransformerOptions o = wide(Tied::all);
    o.src_words = 299;
    CHECK_THROWS_WITH(Transformer(o, Random(1)),
                      "transformer: 299 source words and 300 target words cannot share one table");
    o.tied = Tied::target;
    CHECK_NOTHROW(Transformer(o, Random(1)));
    for (Tied tied : {Tied::target, Tied::all}) {
        Transformer model(wide(tied), Random(1));
        model.output.weight.value = model.output.weight.value.clone();
        CHECK_THROWS_WITH(parameters_of(model),
                          Contains("tied tables no longer share their elements"));
    }
    Transformer model(wide(Tied::all), Random(1));
    model.src_embed.table.value = model.src_embed.table.value.clone();
    CHECK_THROWS_AS(parameters_of(model), std::logic_error);
}
