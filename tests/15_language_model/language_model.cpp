// Per real: what is read and counted of a line, both stacks, and a text continued word by word.
#include "chapters/15_language_model/language_model.hpp"

#include "chapters/09_training/data/grammar.hpp"
#include "chapters/15_language_model/continuation.hpp"
#include "chapters/15_language_model/training.hpp"
#include "lib/eigen.hpp"
#include "tests/gradients.hpp"
#include "tests/proof/trial.hpp"

using namespace abh;

namespace {

LlamaOptions tiny(bool tied) {
    LlamaOptions o{.words = 7, .n_layers = 2, .tied = tied, .context = 16};
    o.block = {.attention = {.d_model = 12, .n_heads = 3, .n_kv_heads = 1}, .d_ff = 5};
    return o;
}

StackOptions tiny_stack(bool tied) {
    StackOptions o{.words = 7, .n_layers = 2, .tied = tied};
    o.layer.attention.d_model = 6;
    o.layer.attention.n_heads = 3;
    o.layer.d_ff = 7;
    o.positions.max_len = 16;
    return o;
}

/// Three sentences of 4, 2 and 3 words, in a batch with pads and without them.
const Ids some({3, 4}, {1, 2, 3, 4, 5, 6, 0, 0, 2, 2, 1, 0});

/// The whole model, with its last map, as a trial whose only variables are its parameters.
template <class Model>
proof::Trial whole(const std::shared_ptr<Model>& model, const Sentences& text) {
    using Cache = std::pair<typename Model::Cache, Linear::Cache>;
    proof::Trial trial{.parameters = parameters_of(*model)};
    trial.forward = proof::with_cache<Cache>(
        [=](Cache* c) {
            return model->output.forward(model->forward(text, &c->first), &c->second);
        },
        [=](const Tensor& dy, const Cache& c) {
            model->backward(model->output.backward(dy, c.second), c.first);
            return proof::Gradients{};
        });
    return trial;
}

template <class Model, class Options>
void check_gradients(const Options& options) {
    Random source(9);
    for (const Sentences& text : {Sentences(some), Sentences(some, leave_out_pads(some))})
        check_trial(
            whole(proof::shaken(std::make_shared<Model>(options, Random(4)), source), text));
}

}  // namespace

TEST_CASE("the gradients of both stacks are those of differences") {
    for (const bool tied : {false, true}) {
        check_gradients<Stack>(tiny_stack(tied));
        check_gradients<Llama>(tiny(tied));
    }
    LlamaOptions sinusoid = tiny(false);
    sinusoid.block.attention.rotary.reset();
    check_gradients<Llama>(sinusoid);
}

TEST_CASE("a word sees no later one, and packed texts are computed as padded ones") {
    const auto check = [](const auto& model) {
        Ids other = some.clone();
        other(0, 3) = 6;
        const Tensor y = model.forward(some), z = model.forward(other);
        const Index d = y.dim(2);
        CHECK(same_bits(y.reshape({12, d}).rows(0, 3).clone(),
                        z.reshape({12, d}).rows(0, 3).clone()));
        CHECK(max_difference(y.reshape({12, d}).rows(3, 4).clone(),
                             z.reshape({12, d}).rows(3, 4).clone()) > 1e-3);
        const Packing packing = leave_out_pads(some);
        const Tensor packed = model.forward({some, packing});
        CHECK(packed.shape() == Shape{1, 9, d});
        CHECK(max_difference(pack(y, packing), packed) < (in_double ? 1e-12 : 1e-5));
    };
    check(Stack(tiny_stack(false), Random(3)));
    check(Llama(tiny(true), Random(3)));
}

TEST_CASE("a text continued word by word gives the rows of the whole text") {
    for (const Index kv_heads : {1, 3}) {
        LlamaOptions options = tiny(true);
        options.block.attention.n_kv_heads = kv_heads;
        const Llama model(options, Random(5));
        const Ids text({1, 6}, {3, 1, 6, 6, 2, 5});
        for (const Way set : {Way::plain, Way::fast}) {
            const ScopedWay scoped(set);
            const Tensor all = model.output.forward(model.forward(text)).reshape({6, 7});
            Continuation continuation(model);
            for (Index t = 0; t < 6; ++t) {
                const Tensor row = all.rows(t, t + 1).reshape({7}).clone();
                const Tensor next = continuation.next(text(0, t));
                // a product of one row may round otherwise than one of six
                CHECK(max_difference(next, row) < (in_double ? 1e-12 : 1e-5));
            }
        }
    }
    const Llama model(tiny(true), Random(5));
    Continuation full(model);
    for (Index t = 0; t < 16; ++t) full.next(1);
    CHECK_THROWS_WITH(full.next(1), "the text has 16 words, and the model's context is full");
    CHECK_THROWS_WITH(model.forward(Ids::full({1, 17}, 1)),
                      "language model: a text of 17 words, but its context is 16");
}

TEST_CASE("a line is a pair on one line, and the loss counts what stands after the arrow") {
    const Corpus corpus = toy_corpus();
    const std::vector<SentencePair> pairs{{{"我", "有", pad_word}, {"I", "have"}}, {{"我"}, {"I"}}};
    CHECK(join_words(line_of(pairs[0])) == "我 有 → I have E");
    const Vocabulary words = line_vocabulary(corpus);
    const auto ids = [&](const Shape& shape, const std::string& line) {
        Ids all(shape);
        for (Index i = 0; const std::string& word : split_words(line))
            all.values()[static_cast<std::size_t>(i++)] = word == "-" ? 0 : words.id(word);
        return all;
    };
    const std::vector<Index> both{0, 1};
    const LineBatch right = make_line_batch(words, pairs, both, Counted::translation);
    CHECK(same_bits(right.read.ids, ids({2, 5}, "我 有 → I have 我 → I - -")));
    CHECK(same_bits(right.targets, ids({1, 8}, "- - I have E - I E")));
    CHECK(right.n_targets == 5);
    const LineBatch all = make_line_batch(words, pairs, both, Counted::all);
    CHECK(same_bits(all.targets, ids({1, 8}, "有 → I have E → I E")));
    CHECK(all.n_targets == 8);
    CHECK_THROWS_WITH(make_line_batch(words, pairs, {}, Counted::all), "a batch of no lines");
}

TEST_CASE("a stack learns the toy's lines by heart") {
    Corpus corpus = toy_corpus();
    const Vocabulary words = line_vocabulary(corpus);
    StackOptions options = tiny_stack(false);
    options.words = words.size();
    options.layer.attention.d_model = 24;
    Stack model(options, Random(1));
    const TrainingOptions training{.epochs = 60, .optimizer = "adam", .learning_rate = Real(0.01)};
    Index steps = 0;
    train_lines(model, words, corpus.train, Counted::translation, training,
                [&](const StepReport&) { ++steps; });
    const Evaluation found = evaluate_lines(model, words, corpus.train);
    CHECK(steps == 60 * ((std::ssize(corpus.train) + 1) / 2));
    CHECK(found.exact == std::ssize(corpus.train));
    CHECK(found.loss < 0.1);
}
