// Once: checkpoints: written, read back, refused.
#include <cstdlib>
#include <regex>
#include <set>
#include <utility>

#include "chapters/09_training/checkpoint.hpp"
#include "chapters/09_training/training.hpp"
#include "lib/io/files.hpp"
#include "lib/io/safetensors.hpp"
#include "tests/support.hpp"
#include "tests/transformers.hpp"

using namespace abh;
namespace fs = std::filesystem;

TEST_CASE("a checkpoint gives back the model, its options, its words, and how it was made") {
    const Folder folder;
    for (auto options : {toy_like(), paper_like(NormPlacement::pre), shared_head_like()}) {
        Corpus corpus = toy_corpus();
        Transformer model(options, Random(9));
        const fs::path file = folder.path / "model.safetensors";
        save_safetensors(file, checkpoint_of(model, corpus, "toy, seed 9"));
        CHECK(folder.count() == 1);
        const Checkpoint back = load_checkpoint(file);
        CHECK(back.source.words() == corpus.source.words());
        CHECK(back.target.words() == corpus.target.words());
        CHECK(same_bits(back.model.forward(example_src(), example_tgt()),
                        model.forward(example_src(), example_tgt())));
        CHECK(to_json(back.model.options()) == to_json(options));
        CHECK(back.made == "toy, seed 9");
        TensorFile older = load_safetensors(file);
        older.metadata.erase("made");
        save_safetensors(file, older);
        CHECK(load_checkpoint(file).made.empty());
    }
}

TEST_CASE("a file that is no checkpoint is named, and says why") {
    const Folder folder;
    const fs::path file = folder.path / "model.safetensors";
    Corpus corpus = toy_corpus();
    Transformer model(toy_like(), Random(9));
    save_safetensors(file, checkpoint_of(model, corpus));
    const std::string whole = read_file(file);
    const TensorFile content = load_safetensors(file);
    const auto message = [&] {
        try {
            load_checkpoint(file);
        } catch (const std::runtime_error& error) {
            CHECK_THAT(error.what(), Contains(file.string()));
            return std::string(error.what());
        }
        return std::string("no error");
    };
    const auto altered = [&](auto change) {
        TensorFile other = content;
        change(other);
        save_safetensors(file, other);
        return message();
    };

    for (const std::size_t length :
         {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
        put(file, whole.substr(0, length));
        CHECK_THAT(message(), Contains("not a usable safetensors file"));
    }
    put(file, "Epoch: 0001 loss = 2.345678\n");
    CHECK_THAT(message(), Contains("not a usable safetensors file"));
    CHECK_THAT(altered([](TensorFile& f) { f.metadata.clear(); }),
               Contains("not a checkpoint of this book") && Contains("no options in its notes"));
    CHECK_THAT(altered([](TensorFile& f) { f.metadata["options"] = "{"; }),
               Contains("not a checkpoint of this book"));
    CHECK_THAT(altered([](TensorFile& f) { f.metadata["options"] = "{}"; }),
               Contains("model options: no field src_words"));
    CHECK_THAT(altered([](TensorFile& f) { f.metadata["source_words"] = "[\"P\"]"; }),
               Contains("vocabularies have 1 and 12 words, but its model has 11 and 12"));
    CHECK_THAT(altered([](TensorFile& f) { f.tensors.erase("output.weight"); }),
               Contains("tensor output.weight is missing"));
    CHECK_THAT(altered([](TensorFile& f) {
                   f.tensors["output.weight"] = Tensor::zeros({12, 5});
               }),
               Contains("tensor output.weight has shape [12, 5], expected [12, 6]"));
    // sizes for which there is no memory, found absurd before a model is made
    for (const char* name : {"d_model", "d_ff", "src_words", "tgt_words", "max_len",
                             "n_encoder_layers", "n_decoder_layers"})
        CHECK_THAT(altered([&](TensorFile& f) {
                       std::string& options = f.metadata["options"];
                       const std::size_t at = options.find(fmt::format("\"{}\": ", name)) +
                                              std::string_view(name).size() + 4;
                       options.replace(at, options.find_first_of(",\n", at) - at, "1000000000");
                   }),
                   Contains("too few for its options"));
    CHECK_THAT(altered([](TensorFile& f) {
                   f.metadata["target_words"] = std::string((1 << 24) + 1, '[');
               }),
               Contains("its target_words have 16777217 bytes"));
    fs::remove(file);
    CHECK_THAT(message(), Contains("cannot read"));
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
