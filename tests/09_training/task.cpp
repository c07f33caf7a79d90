// Once: tasks, their names, and how a model was made.
#include "chapters/09_training/loop/task.hpp"

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "chapters/09_training/model/checkpoint.hpp"
#include "tests/support.hpp"
#include "tests/transformers.hpp"

using namespace abh;
namespace fs = std::filesystem;

TEST_CASE("the toy and the notebook are trained as the toy's source does") {
    for (const char* name : {"toy", "notebook"}) {
        const TrainingOptions o = make_task(name, "").training;
        CHECK(o.epochs == 100);
        CHECK(o.batch_size == 2);
        CHECK(o.optimizer == "sgd");
        CHECK(o.learning_rate == Real(1e-3));
        CHECK(o.momentum == Real(0.99));
        CHECK(o.warmup == 0);
        CHECK(o.smoothing == 0);
    }
    CHECK(TrainingOptions().weight_decay == Real(0.01));  // PyTorch's default for AdamW
}

TEST_CASE("a task is the toy, the notebook, the grammar, or the pairs of a file") {
    for (const char* name : {"toy", "notebook", "grammar"}) {
        const Task task = make_task(name, "");
        CHECK(task.name == name);
        CHECK(task.model.src_words == task.corpus.source.size());
        CHECK(task.model.tgt_words == task.corpus.target.size());
    }
    CHECK(to_json(make_task("toy", "").model) == to_json(TransformerOptions::toy()));
    CHECK(to_json(make_task("notebook", "").model) == to_json(TransformerOptions::notebook()));
    CHECK(make_task("toy", "").name == "toy");
    CHECK(make_task("grammar", "").corpus.train.size() == 2247);
    CHECK_THROWS_WITH(make_task("tatoeba", ""), Contains("unknown corpus tatoeba"));

    const Folder folder;
    const Task task = make_task("toy", folder.put("toy.tsv", "a b\tx\n"));
    CHECK(task.name.starts_with("data-toy-"));  // it does not take the toy's place
    CHECK(task.model.src_words == 3);
    CHECK(task.model.tgt_words == 4);
    std::string longest = "w";
    for (Index i = 1; i < task.model.positions.max_len - 1; ++i) longest += " w";
    CHECK_NOTHROW(make_task("", folder.put("fits.tsv", longest + "\t" + longest + "\n")));
    CHECK_THROWS_WITH(
        make_task("", folder.put("long.tsv", "a\t" + longest + " w\n")),
        Contains("long.tsv:1: a sentence of 256 words, but the model takes at most 255"));

    TransformerOptions other = TransformerOptions::notebook();
    other.positions.max_len = 3;
    CHECK(make_task("toy", "", other).model.positions.max_len == 3);
    CHECK(make_task("toy", "", other).model.src_words == make_task("toy", "").model.src_words);
    const Task fitting = make_task("", folder.put("two.tsv", "a b\tx\n"), other);
    CHECK(fitting.model.positions.max_len == 3);
    CHECK(fitting.model.src_words == 3);
    CHECK_THROWS_WITH(
        make_task("", folder.put("three.tsv", "a b c\tx\n"), other),
        Contains("three.tsv:1: a sentence of 3 words, but the model takes at most 2"));
    other.pad = 1;
    CHECK_THROWS_WITH(make_task("toy", "", other), Contains("the model's pad is 1"));
}

TEST_CASE(
    "a checkpoint is named by its task, and by what differs from the task's own model and "
    "training") {
    ::setenv("ABH_CHECKPOINTS", "/somewhere", 1);
    CHECK(default_checkpoint("toy", 3) == "/somewhere/toy-seed3.safetensors");
    ::unsetenv("ABH_CHECKPOINTS");
    CHECK(default_checkpoint("grammar", 1) == "checkpoints/grammar-seed1.safetensors");

    for (const char* name : {"toy", "notebook", "grammar"})
        CHECK(full_name(make_task(name, "")) == name);
    const auto toy = [](const TransformerOptions& model) { return make_task("toy", "", model); };
    CHECK(full_name(toy(TransformerOptions::toy())) == "toy");
    CHECK(full_name(toy(TransformerOptions::shared_heads())) == "toy-shared_heads");
    CHECK(full_name(toy(TransformerOptions::notebook())) == "toy-notebook");
    std::set<std::string> names{"toy", "toy-shared_heads"};
    for (const auto& model : {toy_like(), paper_like(NormPlacement::pre), shared_head_like()}) {
        const std::string name = full_name(toy(model));
        CHECK(std::regex_match(name, std::regex("toy-model=[0-9a-f]{8}")));
        names.insert(name);
    }
    CHECK(names.size() == 5);  // each has one of its own

    Task task = make_task("toy", "");
    task.training.epochs = 1;
    task.training.learning_rate = Real(0.25);
    task.training.optimizer = "adam";
    CHECK(full_name(task) == "toy-epochs=1-optimizer=adam-lr=0.25");
    TrainingOptions& o = task.training = {};
    const auto alone = [&](auto& option, auto value) {
        const auto before = std::exchange(option, value);
        names.insert(full_name(task));
        option = before;
    };
    alone(o.batch_size, 3);
    alone(o.warmup, 3);
    alone(o.momentum, Real(0.5));
    alone(o.weight_decay, Real(0.5));
    alone(o.beta2, Real(0.5));
    alone(o.smoothing, Real(0.5));
    alone(o.bucket_by_length, true);
    CHECK(names.size() == 12);
    CHECK(full_name(task) == "toy");
}

TEST_CASE("the pairs of two files of one name are two tasks") {
    const Folder folder;
    fs::create_directory(folder / "other");
    const auto name = [&](const std::string& file) { return full_name(make_task("", file)); };
    const std::string one = name(folder.put("pairs.tsv", "a b\tx\n")),
                      other = name(folder.put("other/pairs.tsv", "a b\ty\n"));
    CHECK(std::regex_match(one, std::regex("data-pairs-[0-9a-f]{8}")));
    CHECK(one != other);
    CHECK(one == name(folder.put("other/pairs.tsv", "a b\tx\n")));
    const Task task = make_task("", folder / "pairs.tsv", toy_like());
    CHECK(full_name(task).starts_with(one + "-model="));
}

TEST_CASE("how a model was made is a line of text, whatever the file of its pairs is called") {
    Task task = make_task("toy", "", TransformerOptions::shared_heads());
    task.training.epochs = 7;
    CHECK(how_made(task, 3) ==
          "toy, seed 3, shared_heads, epochs 7, batch 2, optimizer sgd, lr 0.001, warmup 0, "
          "momentum 0.99, weight-decay 0.01, beta2 0.999, smoothing 0, bucket-by-length false, way "
          "fast");
    task.name = "data-\xE9\n";
    CHECK(how_made(task, 3).starts_with("data-\\xE9\\x0A, seed 3, "));
}
