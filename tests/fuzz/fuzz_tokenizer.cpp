#include "chapters/15_language_model/published/byte_tokenizer.hpp"
#include "lib/io/text.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

/// A tokenizer.json on one line, and behind it a text to write with its pieces.
void fuzz::meet(std::string_view bytes) {
    const std::size_t line = std::min(bytes.find('\n'), bytes.size());
    const std::string_view text = bytes.substr(std::min(line + 1, bytes.size()));
    TextStream stream;
    std::string shown;
    for (std::size_t at = 0; at < text.size(); at += 3) shown += stream.add(text.substr(at, 3));
    shown += stream.end();
    fuzz::expect(is_utf8(shown) && shown.find('\x1B') == shown.npos, "bytes are shown that harm");
    fuzz::accepted([&] {
        std::size_t size = 0;
        for (const std::string_view part : cut_text(text)) {
            fuzz::expect(!part.empty() && part.data() == text.data() + size, "a part is elsewhere");
            size += part.size();
        }
        fuzz::expect(size == text.size(), "the parts are not the text");
    });
    fuzz::accepted([&] {
        const ByteTokenizer tokenizer(parse_tokenizer_json(bytes.substr(0, line)));
        for (const bool with_special : {true, false}) {
            std::string_view rest = text;
            for (const std::int32_t id : tokenizer.encode(text, with_special)) {
                // the piece is next in the text, after bytes that have none
                const std::size_t at = rest.find(tokenizer.piece(id));
                fuzz::expect(at != rest.npos, "a piece is not in the text");
                rest.remove_prefix(at + tokenizer.piece(id).size());
            }
        }
    });
}
