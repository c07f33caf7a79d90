#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "chapters/15_language_model/language_model.hpp"
#include "chapters/15_language_model/published/byte_tokenizer.hpp"
#include "chapters/15_language_model/published/gguf.hpp"

namespace abh {
// [options]
/// What the notes of a GGUF file, or `notes_of_json`, say about a model.
/// @param tied     whether the last map's weight is the table
/// @param pairing  how the rows of its weights lie for rotary positions
/// @throws std::invalid_argument naming a note that is missing, out of range, or not built
LlamaOptions published_options(const std::map<std::string, Note>& notes, bool tied,
                               Pairing pairing);
/// The fields of a config.json of `transformers`, as a GGUF file would have them.
/// @throws std::runtime_error naming the file and the field that is missing or not built
std::map<std::string, Note> notes_of_json(const std::filesystem::path& config);
/// The model with the numbers of a file, whose matrices stay there.
/// @param gguf  whether tensors have GGUF's names, or those of `transformers`
/// @throws std::invalid_argument naming a tensor that is missing or has another shape
Llama stored_llama(const LlamaOptions& options, const WeightFile& file, bool gguf);
// [published]
/// A language model that somebody published. Its matrices stay in the file.
struct Published {
    Llama model;
    ByteTokenizer tokenizer;
    std::int32_t end;           ///< the piece after which nothing follows
    std::string chat_template;  ///< as the library writes it, or empty
    Index weight_bytes;         ///< of all tensors
};

/// @param path  a GGUF file, or a folder with model.safetensors, config.json and tokenizer.json, as
///              `transformers` writes them
/// @throws std::runtime_error naming the file and what is wrong with it or not built here
Published load_published(const std::filesystem::path& path);
/// Rounds all matrices of a model to another kind of number, in memory.
/// @return how many bytes all weights take then; the norms' stay floats
Index round_matrices(Llama& model, NumberKind kind);
// [chat]
/// What the model is told first, unless somebody says something else.
inline constexpr const char* usual_system =
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face";

/// A message as the model has learned to read it: who says it, "system", "user" or "assistant", and
/// what. No special piece in the text counts as one.
/// @throws std::invalid_argument unless the model's template is the one that is built here
std::vector<std::int32_t> message_pieces(const Published& model, const std::string& who,
                                         const std::string& text);
/// The beginning of a message of the model's own.
std::vector<std::int32_t> answer_begins(const Published& model);
// [cross entropy]
/// The mean of `-log p` over all pieces but the first, each given those before it in its window.
/// @param window  so many pieces are read at a time, without those before
/// @throws std::invalid_argument unless there are two pieces and the window fits the context
double mean_surprise(const Llama& model, std::span<const std::int32_t> pieces, Index window);

}  // namespace abh
