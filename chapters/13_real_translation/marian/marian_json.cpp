#include "chapters/13_real_translation/marian/marian_json.hpp"

#include "lib/io/file_kind.hpp"
#include "lib/io/files.hpp"
#include "lib/io/strict_json.hpp"

namespace abh {
// [object]
nlohmann::json read_object(const std::filesystem::path& path) {
    const std::string text = read_file(path, JsonLimits().bytes);
    if (const std::string kind = foreign_kind(text); !kind.empty()) refuse(path, "{}", kind);
    try {
        return strict_json(text);
    } catch (const std::invalid_argument& error) {
        refuse(path, "{}", error.what());
    }
}

}  // namespace abh
