#pragma once

// Folders of small models of Marian, to spoil.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "chapters/13_real_translation/marian/marian.hpp"
#include "lib/io/files.hpp"
#include "lib/io/text.hpp"
#include "tests/support.hpp"

/// The models that the transformers library stored.
inline const std::filesystem::path golden = std::filesystem::path(ABH_GOLDEN) / "marian";

/// A model's folder to spoil, in `folder`.
inline std::filesystem::path copy_of(const std::string& name, const Folder& folder) {
    const std::filesystem::path to = folder / name;
    std::filesystem::remove_all(to);
    std::filesystem::copy(golden / name, to, std::filesystem::copy_options::recursive);
    return to;
}

/// Sets a field of a file, or adds it. Where there is no file, one is made.
inline void set_field(const std::filesystem::path& file, const std::string& field,
                      const nlohmann::json& value) {
    auto fields = std::filesystem::exists(file) ? nlohmann::json::parse(abh::read_file(file))
                                                : nlohmann::json::object();
    fields[field] = value;
    put(file, fields.dump());
}

/// The message with which a folder is refused, or "accepted"; it is one line without control
/// characters.
inline std::string refusal(const std::filesystem::path& folder) {
    try {
        abh::marian_translator(folder);
    } catch (const std::runtime_error& error) {
        const std::string message = error.what();
        CHECK(abh::printable(message) == message);
        CHECK_THAT(message, Contains(folder.string()));
        return message;
    }
    return "accepted";
}
