#include "lib/io/strict_json.hpp"

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/io/utf8.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [watch]
namespace {

using nlohmann::json;

/// Looks through a text, and throws where something is wrong.
class Watch : public nlohmann::json_sax<json> {
public:
    explicit Watch(const JsonLimits& limits) : limits_(limits) {}

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
            throw std::invalid_argument(fmt::format("\"{}\" occurs twice", printable(name)));
        require(names_.back().size() <= limits_.names, "more than {} names", limits_.names);
        return true;
    }
    bool start_array(std::size_t) override { return open(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t byte, const std::string&, const json::exception&) override {
        throw std::invalid_argument(fmt::format("not JSON from byte {} on", byte));
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
        require(++depth_ <= limits_.depth, "nested deeper than {}", limits_.depth);
        return value();
    }
    bool close() { return --depth_ >= 0; }
    bool value() {
        require(++values_ <= limits_.values, "more than {} values", limits_.values);
        return true;
    }

    const JsonLimits& limits_;
    std::vector<std::set<std::string>> names_;  // of the objects that are open
    int depth_ = 0;
    std::size_t values_ = 0;
};

}  // namespace
// [strict json]
json strict_json(std::string_view text, const JsonLimits& limits) {
    require(text.size() <= limits.bytes, "{} bytes, at most {} are possible", text.size(),
            limits.bytes);
    Watch watch(limits);
    json::sax_parse(text, &watch);
    json object = json::parse(text);
    require(object.is_object(), "{}, expected an object", object.type_name());
    return object;
}

}  // namespace abh
