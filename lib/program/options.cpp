#include "lib/program/options.hpp"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>  // slow to compile, so included only here
#include <charconv>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "lib/tensor.hpp"

namespace abh {
// [option]
template <class T>
Option Option::range(T least, T most) {
    return {option->check(CLI::Range(least, most))};
}
template Option Option::range(int, int);
template Option Option::range(double, double);

Option Option::one_of(const std::vector<std::string>& values) {
    return {option->check(CLI::IsMember(values))};
}
Option Option::excludes(const std::string& other) {
    return {option->excludes(other)};
}
Option Option::default_shown(const std::string& text) {
    return {option->default_str(text)};
}
// [numbers]
namespace {

/// Whole numbers are decimal. 010 is refused, because some programs would read it as 8.
template <class T>
std::string refuse_other_than_whole(const std::string& s) {
    T value = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error != std::errc() || end != s.data() + s.size())
        return fmt::format("{} is not a whole number from {} to {}", s,
                           std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    const std::string digits = s.substr(s.starts_with('-'));
    return digits.size() > 1 && digits[0] == '0' ? s + " begins with a 0" : "";
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
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        option->check(refuse_other_than_whole<T>);
    return {option};
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
    return {app_->add_flag(name, value, meaning)};
}
// [commands]
Options Options::command(const std::string& name, const std::string& meaning) {
    CLI::App* command = app_->add_subcommand(name, meaning)->fallthrough();
    return Options(std::shared_ptr<CLI::App>(app_, command));
}

std::optional<std::string> Options::read(const std::string& program,
                                         std::vector<std::string> words) {
    app_->name(program);
    std::reverse(words.begin(), words.end());  // the order that CLI11 expects
    try {
        app_->parse(std::move(words));
        return {};
    } catch (const CLI::CallForHelp&) {
        return app_->help();
    } catch (const CLI::ExtrasError&) {  // whose own message lists them backwards
        throw std::invalid_argument(
            fmt::format("not expected: {} (see --help)", fmt::join(app_->remaining(true), " ")));
    } catch (const CLI::ParseError& error) {
        throw std::invalid_argument(error.what() + std::string(" (see --help)"));
    }
}

bool Options::chosen() const {
    return app_->parsed();
}

bool Options::given(const std::string& name) const {
    return app_->count(name) > 0;
}

}  // namespace abh
