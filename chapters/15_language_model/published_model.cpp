#include "chapters/15_language_model/published_model.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lib/eigen.hpp"
#include "lib/io/files.hpp"
#include "lib/io/text.hpp"

namespace abh {
namespace fs = std::filesystem;
namespace {

// [names]
/// The same layer in this book, as in `transformers`, and in GGUF.
constexpr std::pair<std::string_view, std::string_view> same_name[] = {
    {"embed_tokens.", "token_embd."},
    {"lm_head.", "output."},
    {"layers.", "blk."},
    {"input_layernorm.", "attn_norm."},
    {"self_attn.q_proj.", "attn_q."},
    {"self_attn.k_proj.", "attn_k."},
    {"self_attn.v_proj.", "attn_v."},
    {"self_attn.o_proj.", "attn_output."},
    {"post_attention_layernorm.", "ffn_norm."},
    {"mlp.gate_proj.", "ffn_gate."},
    {"mlp.up_proj.", "ffn_up."},
    {"mlp.down_proj.", "ffn_down."}};

std::string name_in(const std::string& ours, bool gguf) {
    if (!gguf) return ours.starts_with("lm_head.") ? ours : "model." + ours;
    std::string name = ours == "norm.weight" ? "output_norm.weight" : ours;
    for (const auto& [from, to] : same_name)
        if (const auto at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
    return name;
}
// [fill]
/// Replaces the numbers of a parameter by those of the file: a vector's are read, a matrix's stay.
void take(Parameter& p, const StoredTensor& from, const std::shared_ptr<const MappedFile>& file) {
    if (from.shape.rank() == 1) {
        p.value = Tensor(from.shape);
        return read_blocks(from.kind, from.data, p.value.values());
    }
    p.stored =
        std::make_shared<BlockMatrix>(from.kind, from.shape[0], from.shape[1], from.data, file);
    p.value = Tensor();
}

// [first layer]
/// A model of this form without its words and with one layer, whose numbers mean nothing yet.
Llama first_layer(const LlamaOptions& o, const WeightFile& file, bool gguf) {
    const Index d = o.block.attention.d_model;
    for (const auto& [name, rows] : {std::pair("embed_tokens.weight", o.words),
                                     {"layers.0.self_attn.q_proj.weight", d},
                                     {"layers.0.mlp.gate_proj.weight", o.block.d_ff}})
        file.at(name_in(name, gguf), {rows, d});  // before memory is taken for such sizes
    require(o.n_layers <= std::ssize(file.tensors), "{} layers in a file of {} tensors", o.n_layers,
            file.tensors.size());
    LlamaOptions small = o;
    small.words = small.n_layers = 1;
    return Llama(small, Random(1));
}

}  // namespace
// [model]
Llama stored_llama(const LlamaOptions& o, const WeightFile& file, bool gguf) {
    Llama model = first_layer(o, file, gguf);
    const Block block = model.blocks[0];
    model.set_options(o);
    model.blocks.assign(static_cast<std::size_t>(o.n_layers), block);
    std::size_t used = 0;
    for (const auto& [name, parameter] : parameters_of(model)) {
        Shape shape = parameter->value.shape();
        if (name == "embed_tokens.weight" || name == "lm_head.weight")
            shape = shape.with(0, o.words);
        take(*parameter, file.at(name_in(name, gguf), shape), file.file);
        ++used;
    }
    if (o.tied) model.output.weight = model.embed.table;
    require(used == file.tensors.size(), "{} of its {} tensors have no place in such a model",
            file.tensors.size() - used, file.tensors.size());
    return model;
}

// [file]
namespace {

Index bytes_of(const WeightFile& file) {
    Index sum = 0;
    for (const auto& [name, tensor] : file.tensors) {
        const BlockFormat& format = format_of(tensor.kind);
        sum += tensor.shape.size() / format.numbers * format.bytes;
    }
    return sum;
}

void require_memory(const WeightFile& file) {
    const auto size = static_cast<double>(file.file->bytes().size());
    const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<double>(::sysconf(_SC_PAGESIZE));
    require(size < memory,
            "it has {:.1f} GB, and this machine's memory {:.1f}; each word would read "
            "all of it from the disk",
            size / 1e9, memory / 1e9);
}
// [gguf]
ByteTokenizer tokenizer_of(const std::map<std::string, Note>& notes) {
    const auto only = [&](const char* name, const Note& expected, const char* shown) {
        const auto found = notes.find(name);
        require(found == notes.end() || found->second == expected, "{} is not {}", name, shown);
    };
    only("tokenizer.ggml.model", std::string("gpt2"), "gpt2, pairs of bytes");
    only("tokenizer.ggml.pre", std::string("smollm"),
         "smollm, the only way of cutting a text here");
    only("tokenizer.ggml.add_bos_token", false, "false");
    only("tokenizer.ggml.add_space_prefix", false, "false");
    constexpr std::int64_t normal = 1, control = 3, user = 4;
    const auto& types = note<std::vector<std::int64_t>>(notes, "tokenizer.ggml.token_type");
    std::vector<std::int32_t> special;
    for (std::size_t i = 0; i < types.size(); ++i) {
        require(types[i] == normal || types[i] == control || types[i] == user,
                "piece {} is of type {}, expected {}, {} or {}", i, types[i], normal, control,
                user);
        if (types[i] != normal) special.push_back(static_cast<std::int32_t>(i));
    }
    using Texts = std::vector<std::string>;
    const auto& pieces = note<Texts>(notes, "tokenizer.ggml.tokens");
    require(pieces.size() == types.size(), "{} pieces and {} types of pieces", pieces.size(),
            types.size());
    return ByteTokenizer(byte_pieces(pieces, special, note<Texts>(notes, "tokenizer.ggml.merges")));
}

/// The piece after which nothing follows.
std::int32_t end_of(const std::map<std::string, Note>& notes, Index words) {
    const auto id = note<std::int64_t>(notes, "tokenizer.ggml.eos_token_id");
    require(id >= 0 && id < words, "the piece that ends a text is {} of {}", id, words);
    return static_cast<std::int32_t>(id);
}

Published from_gguf(const fs::path& path) {
    const WeightFile file = open_gguf(path);
    const auto& notes = file.notes;
    const auto& architecture = note<std::string>(notes, "general.architecture");
    require(architecture == "llama", "its architecture is {}; only llama is built here",
            architecture);
    const bool tied = !file.tensors.contains("output.weight");
    const LlamaOptions options = published_options(notes, tied, Pairing::neighbors);
    require_memory(file);
    const std::string chat = "tokenizer.chat_template";
    return {stored_llama(options, file, true), tokenizer_of(notes), end_of(notes, options.words),
            notes.contains(chat) ? note<std::string>(notes, chat) : "", bytes_of(file)};
}
// [folder]
std::string chat_template_in(const fs::path& folder) {
    if (fs::exists(folder / "chat_template.jinja"))
        return read_file(folder / "chat_template.jinja");
    const fs::path config = folder / "tokenizer_config.json";
    if (!fs::exists(config)) return "";
    const auto fields = strict_json(read_file(config));
    const auto found = fields.find("chat_template");
    return found != fields.end() && found->is_string() ? found->get<std::string>() : "";
}

Published from_folder(const fs::path& folder) {
    const fs::path config = folder / "config.json";
    const auto fields = strict_json(read_file(config, JsonLimits().bytes));
    WeightFile file = open_safetensors(folder / "model.safetensors");
    const bool tied = fields.value("tie_word_embeddings", false);
    if (tied) file.tensors.erase("lm_head.weight");  // some files have it twice
    const auto notes = notes_of_json(config);
    const LlamaOptions options = published_options(notes, tied, Pairing::halves);
    require_memory(file);
    return {stored_llama(options, file, false),
            ByteTokenizer(load_tokenizer_json(folder / "tokenizer.json")),
            end_of(notes, options.words), chat_template_in(folder), bytes_of(file)};
}

}  // namespace
// [load]
Published load_published(const fs::path& path) try {
    Published p = fs::is_directory(path) ? from_folder(path) : from_gguf(path);
    require(p.tokenizer.size() <= p.model.options().words, "{} pieces, but the table has {} rows",
            p.tokenizer.size(), p.model.options().words);
    return p;
} catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: not usable here: {}", printable(path.string()),
                                         printable(error.what(), 400)));
}
// [rounded]
Index round_matrices(Llama& model, NumberKind kind) {
    Index bytes = 0;
    for (const auto& [name, p] : parameters_of(model)) {
        if (!p->stored && p->value.rank() != 2) {
            bytes += p->value.size() * static_cast<Index>(sizeof(float));
            continue;
        }
        const Tensor w = p->stored ? p->stored->read_rows(0, p->stored->d_out()) : p->value;
        const auto matrix = std::make_shared<BlockMatrix>(rounded_matrix(w, kind));
        bytes += matrix->bytes();
        p->stored = matrix;
        p->value = Tensor();
    }
    if (model.options().tied) model.output.weight = model.embed.table;
    return bytes;
}
// [cross entropy]
double mean_surprise(const Llama& model, std::span<const std::int32_t> pieces, Index window) {
    require(pieces.size() >= 2, "a text of {} pieces, expected at least 2", pieces.size());
    require(window >= 2 && window <= model.options().context, "a window of {}, expected 2 to {}",
            window, model.options().context);
    double sum = 0;
    Index count = 0;
    constexpr Index at_once = 32;  // rows of logits
    for (std::size_t first = 0; first + 1 < pieces.size();
         first += static_cast<std::size_t>(window) - 1) {
        const auto text = pieces.subspan(
            first, std::min(pieces.size() - first, static_cast<std::size_t>(window)));
        const Index n = std::ssize(text) - 1;
        Ids ids({1, n});
        std::copy_n(text.begin(), n, ids.values().begin());
        const Tensor x = model.forward(ids).reshape({n, model.options().block.attention.d_model});
        for (Index begin = 0; begin < n; begin += at_once) {
            const Index end = std::min(n, begin + at_once);
            const Tensor logits = model.output.forward(x.rows(begin, end));
            for (Index t = begin; t < end; ++t) {
                const auto row = matrix(logits).row(t - begin).cast<double>().array();
                const double largest = row.maxCoeff();
                sum += largest + std::log((row - largest).exp().sum()) -
                       row(text[static_cast<std::size_t>(t) + 1]);
            }
        }
        count += n;
    }
    return sum / static_cast<double>(count);
}

}  // namespace abh
