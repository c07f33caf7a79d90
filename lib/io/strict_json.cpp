#include "lib/io/strict_json.hpp"

#include <fmt/core.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/io/utf8.hpp"

namespace abh {
// [watch]
namespace {

using nlohmann::json;

/// Looks through a text. `wrong` says what is wrong, if anything.
class Watch : public nlohmann::json_sax<json> {
public:
    explicit Watch(const JsonLimits& limits) : limits_(limits) {}
    std::string wrong;

    bool start_object(std::size_t) override {
        names_.emplace_back();
        return open();
    }
    bool end_object() override {
        names_.pop_back();
        return close();
    }
    bool key(string_t& name) override {
        if (!names_.back().insert(name).second)
            return stop(fmt::format("\"{}\" occurs twice", printable(name)));
        return names_.back().size() <= limits_.names ||
               stop(fmt::format("more than {} names", limits_.names));
    }
    bool start_array(std::size_t) override { return open(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t byte, const std::string&, const json::exception&) override {
        return stop(fmt::format("not JSON from byte {} on", byte));
    }
    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_unsigned(number_unsigned_t) override { return value(); }
    bool number_float(number_float_t, const string_t&) override { return value(); }
    bool string(string_t&) override { return value(); }
    bool binary(binary_t&) override { return value(); }

private:
    bool open() {
        return value() && (++depth_ <= limits_.depth ||
                           stop(fmt::format("nested deeper than {}", limits_.depth)));
    }
    bool close() { return --depth_ >= 0; }
    bool value() {
        return ++values_ <= limits_.values ||
               stop(fmt::format("more than {} values", limits_.values));
    }
    bool stop(const std::string& why) {
        wrong = why;
        return false;
    }

    const JsonLimits& limits_;
    std::vector<std::set<std::string>> names_;  // of the objects that are open
    int depth_ = 0;
    std::size_t values_ = 0;
};

}  // namespace
// [strict json]
json strict_json(std::string_view text, const JsonLimits& limits) {
    const auto expect = [](bool ok, const std::string& wrong) {
        if (!ok) throw std::invalid_argument(wrong);
    };
    expect(text.size() <= limits.bytes,
           fmt::format("{} bytes, at most {} are possible", text.size(), limits.bytes));
    Watch watch(limits);
    const bool fits = json::sax_parse(text, &watch);
    expect(fits, watch.wrong);
    json object = json::parse(text);
    expect(object.is_object(), fmt::format("{}, expected an object", object.type_name()));
    return object;
}

}  // namespace abh
