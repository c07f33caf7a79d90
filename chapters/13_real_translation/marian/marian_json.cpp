#include "chapters/13_real_translation/marian/marian_json.hpp"

#include "lib/io/files.hpp"
#include "lib/io/text.hpp"

namespace abh {
// [fields]
Fields::Fields(const std::filesystem::path& path) : path_(path) {
    const std::string text = read_file(path, JsonLimits().bytes);
    if (const std::string kind = foreign_kind(text); !kind.empty()) fail("{}", kind);
    try {
        values_ = strict_json(text);
    } catch (const std::invalid_argument& error) {
        fail("{}", error.what());
    }
}

void Fields::expect_usual(const nlohmann::json& usual,
                          std::initializer_list<const char*> names) const {
    for (const char* name : names)
        if (has(name) && usual == "none")
            expect(value(name).empty(), name, "none");
        else if (has(name))
            expect(value(name) == usual, name, "{}", usual.dump());
}

}  // namespace abh
