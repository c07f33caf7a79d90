#include "lib/program/options.hpp"

#include <CLI/CLI.hpp>  // takes a compiler seconds: nowhere else
#include <charconv>
#include <filesystem>

#include "lib/tensor.hpp"

namespace abh {
// [option]
template <class T>
Option Option::range(T least, T most) {
    return Option(option_->check(CLI::Range(least, most)));
}
template Option Option::range(int, int);
template Option Option::range(Index, Index);
template Option Option::range(double, double);

Option Option::one_of(const std::vector<std::string>& values) {
    return Option(option_->check(CLI::IsMember(values)));
}
Option Option::excludes(const std::string& other) {
    return Option(option_->excludes(other));
}
Option Option::default_shown(const std::string& text) {
    return Option(option_->default_str(text));
}
// [numbers]
namespace {

/// Whole numbers are decimal: 010 is refused, which some readers take for 8.
std::string refuse_octal(const std::string& s) {
    const bool octal = s.size() > 1 && s[0] == '0' && s.find_first_not_of("0123456789") == s.npos;
    return octal ? s + " begins with a 0" : "";
}

std::string refuse_other_than_uint64(const std::string& s) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    return error == std::errc() && end == s.data() + s.size()
               ? ""
               : s + " is not a whole number from 0 to 18446744073709551615";
}

}  // namespace
// [options]
Options::Options(const std::string& description) : app_(std::make_shared<CLI::App>(description)) {
    app_->get_formatter()->column_width(34);
    app_->option_defaults()->always_capture_default();
    app_->require_subcommand(0, 1);
}

template <class T>
Option Options::add(const std::string& name, T& value, const std::string& meaning) {
    CLI::Option* option = app_->add_option(name, value, meaning);
    if constexpr (std::is_same_v<T, std::uint64_t>) option->check(refuse_other_than_uint64);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) option->check(refuse_octal);
    return Option(option);
}
template Option Options::add(const std::string&, bool&, const std::string&);
template Option Options::add(const std::string&, int&, const std::string&);
template Option Options::add(const std::string&, Index&, const std::string&);
template Option Options::add(const std::string&, std::uint64_t&, const std::string&);
template Option Options::add(const std::string&, float&, const std::string&);
template Option Options::add(const std::string&, double&, const std::string&);
template Option Options::add(const std::string&, std::string&, const std::string&);
template Option Options::add(const std::string&, std::filesystem::path&, const std::string&);

Option Options::flag(const std::string& name, bool& value, const std::string& meaning) {
    return Option(app_->add_flag(name, value, meaning));
}

void Options::set_default(const std::string& name, const std::string& value) {
    app_->get_option(name)->default_val(value);
}
// [commands]
Options Options::command(const std::string& name, const std::string& meaning) {
    CLI::App* command = app_->add_subcommand(name, meaning)->fallthrough();
    return Options(std::shared_ptr<CLI::App>(app_, command));
}

void Options::allow_several_commands() {
    app_->require_subcommand(0, 0);
}

std::optional<std::string> Options::read(const std::string& program,
                                         std::vector<std::string> words) {
    app_->name(program);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    try {
        app_->parse(std::move(words));
        return {};
    } catch (const CLI::CallForHelp&) {
        return app_->help();
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
}

bool Options::chosen() const {
    return app_->parsed();
}

bool Options::given(const std::string& name) const {
    return app_->count(name) > 0;
}

}  // namespace abh
