// Writes files to begin with into folders of the fuzzers' names: `fuzz_seeds FOLDER`. They are made
// by the code of today, so that they stay valid; what fuzzing found stands in tests/fuzz/seeds.
#include <cstring>

#include "chapters/09_training/model/checkpoint.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/io/files.hpp"
#include "lib/io/safetensors.hpp"

using namespace abh;

namespace {

void write(const std::filesystem::path& path, const std::string& content) {
    AtomicFile file(path);
    file.write(content);
    file.commit();
}

/// As fuzz.hpp wants it: the header, a line feed, the numbers.
void write_open(const std::filesystem::path& path) {
    const std::string file = read_file(path);
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    write(path.string() + ".open", file.substr(8, length) + '\n' + file.substr(8 + length));
}

void write_models(const std::filesystem::path& folder) {
    TensorFile file;
    file.tensors["a"] = Tensor({2, 2}, {1, 2, 3, 4});
    file.tensors["b.weight"] = Tensor({1}, {5});
    file.metadata = {{"epoch", "12"}};
    save_safetensors(folder / "checkpoint/two_tensors", file);
    save_safetensors(folder / "checkpoint/none", {});
    const Corpus corpus = toy_corpus();
    TransformerOptions options = TransformerOptions::toy();
    options.src_words = corpus.source.size();
    options.tgt_words = corpus.target.size();
    options.n_encoder_layers = options.n_decoder_layers = 1;
    options.layer.attention.d_model = 4;
    options.layer.attention.n_heads = 2;
    options.layer.d_ff = 3;
    options.positions.max_len = 20;
    Transformer model(options, Random(1));
    save_safetensors(folder / "checkpoint/tiny", checkpoint_of(model, corpus));
    write_open(folder / "checkpoint/tiny");
}

void write_text(const std::filesystem::path& folder) {
    const std::string pairs =
        "我 有 一 个 好 朋 友\tI have a good friend .\n\n你好\tHello .\tCC-BY\r\n";
    write(folder / "vocabulary/pairs", pairs);
    write(folder / "vocabulary/bom", "\xEF\xBB\xBF" + pairs);
    write(folder / "lines/pairs", pairs);
    write(folder / "lines/compressed", "z" + pairs);
    const std::vector<std::string> sentences{"I have a good friend .", "I have no friend .",
                                             "我有一个好朋友。"};
    write(folder / "subwords/bytes", Subwords::train(sentences, 300).model());
    write(folder / "subwords/plain", Subwords::train(sentences, 40, false).model());
}

void write_marian(const std::filesystem::path& folder) {
    const std::string config =
        R"({"model_type": "marian", "vocab_size": 9, "encoder_layers": 1, "decoder_layers": 2, )"
        R"("d_model": 4, "encoder_attention_heads": 2, "decoder_attention_heads": 2, )"
        R"("encoder_ffn_dim": 3, "decoder_ffn_dim": 3, "activation_function": "swish", )"
        R"("max_position_embeddings": 20, "pad_token_id": 8, "decoder_start_token_id": 8, )";
    const std::string one = config + R"("eos_token_id": 0})",
                      two = config + R"("decoder_vocab_size": 10, "tie_word_embeddings": false, )"
                                     R"("scale_embedding": true, "eos_token_id": [0]})",
                      generation = R"({"bad_words_ids": [[8]]})",
                      tokens =
                          R"({"sep_token": "▁friend", "additional_special_tokens": ["<ent>"], )"
                          R"("added_tokens_decoder": {"7": {"content": "<ent>"}}})",
                      words = R"({"</s>": 0, "<unk>": 1, "▁friend": 2, ">>deu<<": 3, "a": 4, )"
                              R"("<pad>": 8})";
    write(folder / "marian/config", one);
    write(folder / "marian/generation", two + '\n' + generation);
    write(folder / "marian/words", one + '\n' + generation + '\n' + tokens + '\n' + words);
}

void write_tokenizer(const std::filesystem::path& folder) {
    const std::string begin =
        R"({"added_tokens": [{"id": 0, "content": "<|im_end|>"}, {"id": 7, "content": "<|im"}], )"
        R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [)"
        R"({"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", )"
        R"("add_prefix_space": false, "trim_offsets": true, "use_regex": true}]}, )"
        R"("model": {"type": "BPE", "vocab": {"<|im_end|>": 0, "a": 1, "Ġ": 2, "Ġa": 3, "æ": 4, )"
        R"("Īĳ": 5, "Ī": 6, "ĳ": 8}, "merges": )";
    const std::string text = "\naa  a, 12's 我 <|im_end|><|im \x1B\r\n\xE6\x88";
    write(folder / "tokenizer/pairs", begin + R"([["Ġ", "a"], ["Ī", "ĳ"]]}})" + text);
    write(folder / "tokenizer/texts", begin + R"(["Ġ a", "Ī ĳ"]}})" + "\na  a 12 我<|im_end|>");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 1;
    try {
        write_models(argv[1]);
        write_text(argv[1]);
        write_marian(argv[1]);
        write_tokenizer(argv[1]);
        return 0;
    } catch (const std::exception& error) {
        return std::fprintf(stderr, "%s: %s\n", argv[0], error.what()), 1;
    }
}
