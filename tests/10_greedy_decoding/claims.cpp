// Once: what is claimed of the grammar's model, and the recorded model itself.
#include "chapters/10_greedy_decoding/claims.hpp"

#include "chapters/09_training/data/grammar.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/10_greedy_decoding/greedy_translator.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

GreedyTranslator recorded() {
    return {load_checkpoint(ABH_GOLDEN "/../../recorded/live/grammar-seed1.safetensors"), 20};
}

}  // namespace

TEST_CASE("the recorded model knows who likes whom, both ways round, from sentences it never saw") {
    const GreedyTranslator translator = recorded();
    const Corpus corpus = grammar_corpus();
    CHECK(translator.checkpoint.source.words() == corpus.source.words());
    const auto says = [&](const char* line) {
        return join_words(translator.words(translator.translate(split_words(line))));
    };
    CHECK(says("这 个 老 师 喜 欢 这 个 学 生") == "this teacher likes this student .");
    CHECK(says("这 个 学 生 喜 欢 这 个 老 师") == "this student likes this teacher .");
    CHECK(says("我 有 一 个 女 朋 友") == "I have a girl friend .");
    const Claims right = exact_by_kind(translator.checkpoint.model, corpus);
    CHECK(right.at("combination") == 135);
    CHECK(right.at("swapped") == 72);
    CHECK(right.at("both_ways") == 66);
}

TEST_CASE("without codes, a sentence and its reverse are one, whatever was learned") {
    const Task task = grammar_task(false);
    const Transformer model(task.model, Random(5));  // so it needs no training
    const Corpus& corpus = task.corpus;
    const Ids read({1, 2}, {1, 5});
    const auto logits = [&](const char* line) {
        return model.logits(source_ids(corpus.source, split_words(line)), read);
    };
    CHECK(max_difference(logits("这 个 老 师 喜 欢 这 个 学 生"),
                         logits("这 个 学 生 喜 欢 这 个 老 师")) < 1e-4);
    CHECK(max_difference(logits("这 个 老 师 喜 欢 这 个 学 生"),
                         logits("这 个 老 师 喜 欢 这 个 孩 子")) > 1e-2);
}

TEST_CASE(
    "counting what a model does leaves it as it was, and a model that learned nothing does "
    "little") {
    Task task = grammar_task();
    task.corpus.held_out.resize(140);
    Transformer model(task.model, Random(2));
    const Transformer start(task.model, Random(2));
    const Claims claims = claims_of(model, start, task.corpus);
    const Parameters now = parameters_of(model);
    Transformer fresh(task.model, Random(2));
    const Parameters before = parameters_of(fresh);
    for (std::size_t i = 0; i < now.size(); ++i)
        CHECK(same_bits(now[i].parameter->value, before[i].parameter->value));
    CHECK(claims.at("combination") == 0);
    CHECK(claims.at("own_word") == claims.at("start_own_word"));
    CHECK(claims.at("own_word") < 0.5);
    CHECK(claims.at("place") > 0.25);
    CHECK(claims.at("place") < 0.4);
    CHECK(claims.at("saturated") < 0.05);
}
