#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "lib/io/files.hpp"
#include "lib/io/text.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [refuse]
/// @throws std::runtime_error always, with one line that is safe to print whatever the file holds
template <class... Args>
[[noreturn]] void refuse(const std::filesystem::path& path, fmt::format_string<Args...> why,
                         Args&&... args) {
    throw std::runtime_error(
        fmt::format("{}: not usable as a model of Marian: {}", path.string(),
                    printable(fmt::format(why, std::forward<Args>(args)...), 300)));
}
// [fields]
/// Whether a value is a whole number from 0 to n - 1.
inline bool is_below(const nlohmann::json& value, Index n) {
    return value.is_number_unsigned() && std::cmp_less(value.get<std::uint64_t>(), n);
}

/// The JSON object in a file. It refuses unexpected values; a null field counts as missing.
class Fields {
public:
    /// @throws std::runtime_error if the file has no object, or exceeds a limit of `JsonLimits`
    explicit Fields(const std::filesystem::path& path) : path_(path) {
        const std::string text = read_file(path, JsonLimits().bytes);
        if (const std::string kind = foreign_kind(text); !kind.empty()) fail("{}", kind);
        try {
            values_ = strict_json(text);
        } catch (const std::invalid_argument& error) {
            fail("{}", error.what());
        }
    }
    /// The same, but without any field if there is no such file or it is not wanted.
    static Fields if_there(const std::filesystem::path& path, bool wanted = true) {
        return wanted && std::filesystem::exists(path) ? Fields(path)
                                                       : Fields(path, nlohmann::json::object());
    }

    const std::filesystem::path& path() const { return path_; }
    const nlohmann::json& all() const { return values_; }
    bool has(const std::string& name) const {
        return values_.contains(name) && !values_[name].is_null();
    }
    const nlohmann::json& value(const std::string& name) const {
        if (!has(name)) fail("no field {}", name);
        return values_[name];
    }
    template <class... Args>
    [[noreturn]] void fail(fmt::format_string<Args...> why, Args&&... args) const {
        refuse(path_, why, std::forward<Args>(args)...);
    }
    template <class... Args>
    void expect(bool ok, const std::string& name, fmt::format_string<Args...> expected,
                Args&&... args) const {
        if (!ok)
            fail("{} is {}, expected {}", name, value(name).dump(),
                 fmt::format(expected, std::forward<Args>(args)...));
    }
    /// Refuses fields of such a file whose values this book does not follow.
    void require_usual(std::string_view file) const;
    /// A whole number from `least` to `most`.
    Index number(const char* name, Index least, Index most) const {
        const nlohmann::json& found = value(name);
        expect(is_below(found, most + 1) && found.get<Index>() >= least, name,
               "a whole number from {} to {}", least, most);
        return found.get<Index>();
    }
    bool flag(const char* name, bool otherwise) const {
        if (!has(name)) return otherwise;
        expect(value(name).is_boolean(), name, "true or false");
        return value(name).get<bool>();
    }
    /// The value of both fields, which must agree: our encoder and decoder have the same layers.
    Index same(const char* name, const char* other, Index most) const {
        const Index found = number(name, 1, most);
        expect(number(other, 1, most) == found, other, "{} as in {}", found, name);
        return found;
    }

private:
    Fields(std::filesystem::path path, nlohmann::json values)
        : path_(std::move(path)), values_(std::move(values)) {}

    std::filesystem::path path_;
    nlohmann::json values_;
};

}  // namespace abh
