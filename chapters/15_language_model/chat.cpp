#include "chapters/15_language_model/published_model.hpp"

namespace abh {
// [template]
namespace {

/// What SmolLM2 has learned, as its file describes it to the library.
constexpr const char* known_template =
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

void add(std::vector<std::int32_t>& ids, const ByteTokenizer& tokenizer, const std::string& text) {
    const std::vector<std::int32_t> more = tokenizer.encode(text, false);
    ids.insert(ids.end(), more.begin(), more.end());
}

}  // namespace
// [chat]
std::vector<std::int32_t> message_pieces(const Published& p, const std::string& who,
                                         const std::string& text) {
    require(p.chat_template == known_template,
            "the model has no chat format, or another one than SmolLM2's, which is the only one "
            "that is built here; `continue` works without one");
    // [chat: a message]
    std::vector<std::int32_t> ids{p.tokenizer.special("<|im_start|>")};
    add(ids, p.tokenizer, who + "\n" + text);
    ids.push_back(p.tokenizer.special("<|im_end|>"));
    add(ids, p.tokenizer, "\n");
    return ids;
    // [chat: the answer]
}

std::vector<std::int32_t> answer_begins(const Published& p) {
    std::vector<std::int32_t> ids{p.tokenizer.special("<|im_start|>")};
    add(ids, p.tokenizer, "assistant\n");
    return ids;
}

}  // namespace abh
