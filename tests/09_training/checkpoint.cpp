// Once: checkpoints: written, read back, refused.
#include "chapters/09_training/model/checkpoint.hpp"

#include <filesystem>

#include "chapters/09_training/data/corpus.hpp"
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
