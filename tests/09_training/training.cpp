// Per way: training: the loop, what it prints and what it saves.
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <regex>
#include <set>

#include "chapters/09_training/loop/train_with_output.hpp"
#include "chapters/09_training/loss/loss.hpp"
#include "chapters/09_training/model/checkpoint.hpp"
#include "lib/fast/parallel.hpp"
#include "tests/printed.hpp"
#include "tests/transformers.hpp"
#include "tests/ways.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

std::vector<double> losses_of(const Task& task, std::uint64_t seed, int n_threads = 1) {
    set_threads(n_threads);
    Transformer model(task.model, Random(seed));
    std::vector<double> losses;
    train(model, task.corpus, task.training,
          [&](const StepReport& r) { losses.push_back(r.loss); });
    set_threads(1);
    return losses;
}

}  // namespace

TEST_CASE("training makes the loss fall until the pairs come out exact") {
    const Task task = small_task();
    Transformer model(task.model, Random(1));
    std::vector<StepReport> reports;
    train(model, task.corpus, task.training,
          [&](const StepReport& report) { reports.push_back(report); });
    REQUIRE(static_cast<Index>(reports.size()) == count_steps(task.corpus, task.training));
    CHECK(reports.size() == 80);
    CHECK(reports[0].epoch == 1);
    CHECK(reports[1].epoch == 1);
    CHECK(reports[2].epoch == 2);
    CHECK(reports.back().step == 80);
    CHECK(reports.back().loss < reports.front().loss / 20);
    const Evaluation e = evaluate(model, task.corpus, task.corpus.train);
    CHECK(e.exact == 3);
    CHECK(e.words == 21);

    // a batch keeps its pads if a source begins with one; nobody must guess them
    SentencePair longer = task.corpus.train[0];
    longer.source.insert(longer.source.begin(), pad_word);
    longer.target.push_back(longer.target.front());
    const std::vector<SentencePair> two{longer, task.corpus.train[1]};
    REQUIRE(make_batch(task.corpus, two).target_in.packing.empty());
    CHECK(evaluate(model, task.corpus, two).exact ==
          1 + evaluate(model, task.corpus, std::span(two).first(1)).exact);
}

TEST_CASE("adamw decays the weights, and adam does not") {
    Task task = small_task();
    task.training.epochs = 2;
    const auto losses = [&](const char* optimizer, Real weight_decay) {
        task.training.optimizer = optimizer;
        task.training.weight_decay = weight_decay;
        return losses_of(task, 1);
    };
    const auto adam = losses("adam", 0);
    CHECK(losses("adam", Real(0.5)) == adam);
    CHECK(losses("adamw", 0) == adam);
    CHECK(losses("adamw", Real(0.5)) != adam);
}

TEST_CASE("an epoch takes each pair once, in an order that changes") {
    Task task = small_task();
    task.training.epochs = 8;
    task.training.optimizer = "sgd";
    task.training.learning_rate = Real(1e-30);  // the weights stay as they are
    const auto losses = losses_of(task, 1);
    std::set<double> of_two, of_one;
    for (std::size_t epoch = 0; epoch < 8; ++epoch) {
        const double two = losses[2 * epoch], one = losses[2 * epoch + 1];  // pairs in the batch
        CHECK(2 * two + one == Approx(2 * losses[0] + losses[1]).margin(round_off));
        of_two.insert(two);
        of_one.insert(one);
    }
    CHECK(of_one.size() == 3);
    CHECK(of_two.size() >= 3);
}

TEST_CASE("a report comes after the update, with the smoothed loss and the gradients before it") {
    Task task = small_task();
    task.training.batch_size = 3;
    task.training.epochs = 1;
    task.training.smoothing = Real(0.3);
    Transformer model(task.model, Random(1));
    const Batch batch = make_batch(task.corpus, task.corpus.train);
    const Tensor logits = model.logits(batch.source.ids, batch.target_in.ids);
    const std::int32_t pad = model.options().pad;
    const double plain = cross_entropy(logits, batch.target_out, {pad});
    const double smoothed = cross_entropy(logits, batch.target_out, {pad, Real(0.3)});
    REQUIRE(std::abs(smoothed - plain) > 1e-3);
    CHECK(evaluate(model, task.corpus, task.corpus.train).loss == Approx(plain).margin(round_off));
    train(model, task.corpus, task.training, [&](const StepReport& r) {
        CHECK(r.loss == Approx(smoothed).margin(round_off));
        CHECK(grad_norm(parameters_of(model)) > 0);
        CHECK(evaluate(model, task.corpus, task.corpus.train).loss < plain);
    });
}

TEST_CASE("training puts like lengths together where it is asked to") {
    Task task = small_task();
    const SentencePair longer = task.corpus.train[0];
    SentencePair shorter = longer;
    shorter.source.resize(2);
    shorter.target.resize(2);
    task.corpus.train.assign(6, longer);
    task.corpus.train.insert(task.corpus.train.end(), 6, shorter);
    task.training.batch_size = 6;
    task.training.epochs = 1;
    task.training.bucket_by_length = true;
    Transformer model(task.model, Random(1));
    const auto loss_of = [&](const SentencePair& pair) {
        return evaluate(model, task.corpus, std::span(&pair, 1)).loss;
    };
    const double of_longer = loss_of(longer), of_shorter = loss_of(shorter);
    REQUIRE(std::abs(of_longer - of_shorter) > 1e-3);
    train(model, task.corpus, task.training, [&](const StepReport& r) {
        if (r.step > 1) return;
        const double difference =
            std::min(std::abs(r.loss - of_longer), std::abs(r.loss - of_shorter));
        CHECK(difference < round_off);
    });
}

TEST_CASE("a step begins with gradients of zero, and is the same with its pads and without") {
    Task task = grammar_task();  // its sentences differ in length
    task.model.layer = toy_like().layer;
    task.model.positions.dropout = 0;
    task.model.n_encoder_layers = task.model.n_decoder_layers = 1;
    task.training.optimizer = "sgd";
    Transformer padded(task.model, Random(1)), other(task.model, Random(1));
    const Parameters p = parameters_of(padded), q = parameters_of(other);
    Sgd sgd(p, task.training.momentum);
    Trainer trainer(other, task.training);
    const CrossEntropyOptions options{task.model.pad, task.training.smoothing};
    for (std::size_t step = 0; step < 3; ++step) {
        const Batch batch =
            make_batch(task.corpus, std::span(task.corpus.train).subspan(6 * step, 6));
        REQUIRE(!batch.source.packing.empty());
        Transformer::Cache cache;
        VocabularyLossCache loss_cache;
        zero_grad(p);
        const Tensor y = padded.forward(batch.source.ids, batch.target_in.ids, &cache);
        const double loss =
            vocabulary_loss(y, padded.output, batch.target_out, options, &loss_cache);
        padded.backward(vocabulary_loss_backward(padded.output, loss_cache), cache);
        sgd.step(Real(0.01));
        CHECK(trainer.step(batch, Real(0.01)) == Approx(loss).margin(round_off));
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
        INFO(p[i].name);
        CHECK(max_difference(p[i].parameter->value, q[i].parameter->value) < round_off);
    }
}

TEST_CASE("the same seed gives the same losses, bit by bit, for any number of threads") {
    Task task = small_task();
    task.model = toy_like(64, 4, 128);  // large enough that threads share the work
    task.model.positions.dropout = task.model.layer.add_norm.dropout = Real(0.1);
    task.training.epochs = emulated() ? 1 : 6;
    const auto losses = losses_of(task, 1);
    CHECK(losses_of(task, 1) == losses);
    CHECK(losses_of(task, 1, 2) == losses);
    CHECK(losses_of(task, 1, 5) == losses);
    CHECK(losses_of(task, 2) != losses);
}

TEST_CASE("training refuses options out of range, and stops where the loss is not finite") {
    using O = TrainingOptions;
    const std::pair<std::function<void(O&)>, const char*> cases[] = {
        {[](O& o) { o.epochs = 0; }, "0 epochs"},
        {[](O& o) { o.epochs = Index{1} << 62; }, "1,000,000"},
        {[](O& o) { o.batch_size = 0; }, "batches of 0"},
        {[](O& o) { o.optimizer = "lion"; }, "unknown optimizer lion, expected sgd, adam or adamw"},
        {[](O& o) { o.weight_decay = -1; }, "weight decay -1"},
        {[](O& o) { o.learning_rate = -1; }, "learning rate -1"},
        {[](O& o) { o.momentum = 1; }, "momentum 1"},
        {[](O& o) { o.warmup = -2; }, "warm-up of -2"},
        {[](O& o) { o.smoothing = 1; }, "smoothing 1"},
        {[](O& o) { o.learning_rate = Real(in_double ? 1e300 : 1e30); }, "is not finite"}};
    for (const auto& [change, message] : cases) {
        Task task = small_task();
        change(task.training);
        Transformer model(task.model, Random(1));
        CHECK_THROWS_WITH(train(model, task.corpus, task.training, [](const StepReport&) {}),
                          Contains(message));
    }
}

TEST_CASE("a batch larger than the corpus is the whole corpus") {
    Task task = small_task();
    task.training.epochs = 2;
    task.training.batch_size = 3;
    const auto losses = losses_of(task, 1);
    task.training.batch_size = std::numeric_limits<Index>::max();
    CHECK(count_steps(task.corpus, task.training) == 2);
    CHECK(losses_of(task, 1) == losses);
    task.corpus.train.clear();
    CHECK_THROWS_WITH(count_steps(task.corpus, task.training), Contains("no pair to train on"));
}

TEST_CASE("a step prints the source's line, and no progress bar goes into a file") {
    Task task = small_task();
    task.training.epochs = 3;
    Results results;
    const std::string out = written_to(1, [&] { train_with_output(task, 1, "", results); });
    const std::size_t from = out.find("== Training ==\n") + 15, to = out.find("\n== Time");
    const std::string lines = out.substr(from, to - from);
    CHECK(std::regex_match(lines, std::regex("(Epoch: 0001 loss = \\d\\.\\d{6}\n){2}"
                                             "(Epoch: 0002 loss = \\d\\.\\d{6}\n){2}"
                                             "(Epoch: 0003 loss = \\d\\.\\d{6}\n){2}")));
    CHECK(out.find('\r') == std::string::npos);
    CHECK(out.find("not saved") != std::string::npos);
    task.print_steps = false;  // then a line for each epoch
    const std::string short_out = written_to(1, [&] { train_with_output(task, 1, "", results); });
    CHECK(std::count(short_out.begin(), short_out.end(), 'E') == 3);
}

TEST_CASE("training with output saves what it trained, and how") {
    const Folder folder;
    const fs::path file = folder.path / "new" / "model.safetensors";
    Task task = small_task();
    Results results(folder.path / "out");
    double unseen = 0;
    written_to(1, [&] {
        const Transformer model = train_with_output(task, 1, file, results);
        unseen = evaluate(model, task.corpus, task.corpus.held_out).loss;
    });
    const Checkpoint checkpoint = load_checkpoint(file);
    CHECK(evaluate(checkpoint.model, task.corpus, task.corpus.held_out).loss == unseen);
    CHECK(checkpoint.made == how_made(task, 1));
    for (const char* name : {"losses.npy", "norms.npy", "norm_epochs.npy"})
        CHECK(fs::exists(folder.path / "out" / name));
}

TEST_CASE("what keeps a checkpoint from being saved is known before anything is trained") {
    const Folder folder;
    const auto fails = [](const Task& task, const fs::path& file) {
        std::string message;
        const std::string out = written_to(1, [&] {
            try {
                Results none;
                train_with_output(task, 1, file, none);
            } catch (const std::exception& error) {
                message = error.what();
            }
        });
        CHECK(out.find("Epoch") == std::string::npos);
        return message;
    };
    const Task task = small_task();
    CHECK_THAT(fails(task, folder.put("file", "x") / "m"), Contains("cannot write"));
    CHECK_THAT(fails(task, folder.path), Contains("Is a directory"));
    if (fs::exists("/dev/full")) {  // under the name that the file has until it is whole
        fs::create_symlink("/dev/full", folder / ("m.part" + std::to_string(::getpid())));
        CHECK_THAT(fails(task, folder / "m"), Contains("No space left on device"));
    }
    Task latin1 = small_task();
    latin1.corpus.source = Vocabulary({pad_word, "\xE9"});
    for (const SentencePair& pair : latin1.corpus.train) add_words(latin1.corpus, pair);
    latin1.model.src_words = latin1.corpus.source.size();
    CHECK_THAT(fails(latin1, folder / "m"), Contains("UTF-8"));
    CHECK(folder.count() == 1);  // nothing but `file` is there
}
