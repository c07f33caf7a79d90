#include "tests/proof/proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace abh::proof {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Sizes, batch, length, keys, d_model, n_heads, d_ff, src_words,
                                   tgt_words, n_layers)

namespace {

template <class T>
void write(BasicTensor<T> target, const Tensor& values) {  // a handle: writes where it points
    std::transform(values.values().begin(), values.values().end(), target.data(),
                   [](Real value) { return static_cast<T>(value); });
}

/// Small enough for differences of a whole Transformer.
Sizes random_sizes(const Stream& stream) {
    const Ids draw = random_ids({9}, 0, 1 << 20, stream);
    const auto between = [&](Index i, Index low, Index high) {
        return low + draw(i) % (high - low + 1);
    };
    Sizes s;
    s.batch = between(0, 1, 3);
    s.length = between(1, 1, 5);
    s.keys = between(2, 1, 5);
    s.n_heads = between(3, 1, 3);
    s.d_model = s.n_heads * between(4, 3, 5);  // a norm of one or two columns is nearly constant
    s.d_ff = between(5, 1, 8);
    s.src_words = between(6, 3, 9);
    s.tgt_words = between(7, 3, 9);
    s.n_layers = between(8, 1, 2);
    return s;
}

double largest(const Tensor& values) {
    double found = 0;
    for (Real x : values.values()) found = std::max(found, std::abs(static_cast<double>(x)));
    return found;
}

}  // namespace

Fixture::Fixture(const std::filesystem::path& path) : file(load_safetensors(path)) {
    nlohmann::json::parse(file.metadata.at("notes")).at("cases").get_to(cases);
}

Trial load_trial(const Component& component, const Fixture& fixture, const std::string& name) {
    Random random(1);
    Trial trial = component.make(fixture.cases.at(name), random);
    for (const auto& [key, x] : trial.inputs)
        write(x, fixture.file.at(name + "/input." + key, x.shape()));
    for (const auto& [key, ids] : trial.ids)
        write(ids, fixture.file.at(name + "/ids." + key, ids.shape()));
    for (const NamedParameter& p : trial.parameters)
        write(p.parameter->value,
              fixture.file.at(name + "/param." + p.name, p.parameter->value.shape()));
    return trial;
}

Distance distance(const std::string& name, const Tensor& ours, const Tensor& theirs, double floor) {
    const double scale = std::max({largest(theirs), floor, std::numeric_limits<double>::min()});
    Distance worst{.name = name};
    for (Index i = 0; i < ours.size(); ++i) {
        const double a = static_cast<double>(ours.data()[i]);
        const double b = static_cast<double>(theirs.data()[i]);
        const double relative = std::abs(a - b) / scale;
        if (worst.element >= 0 && relative <= worst.relative) continue;
        worst.element = i;
        worst.relative = relative;
        worst.ours = a;
        worst.theirs = b;
        if (std::isnan(relative)) break;
    }
    return worst;
}

std::string to_string(const Distance& d) {
    return fmt::format(
        "{}, element {}: {:.9g}, PyTorch has {:.9g}; relative {:.1e}, PyTorch in "
        "single precision {:.1e}",
        d.name, d.element, d.ours, d.theirs, d.relative, d.of_pytorch);
}

std::vector<Distance> compare(const Component& component, const std::filesystem::path& folder) {
    const Fixture fixture(folder / (component.name + ".safetensors"));
    std::vector<Distance> list;
    std::size_t used = 0;
    for (const auto& [name, sizes] : fixture.cases) {
        const Trial trial = load_trial(component, fixture, name);
        used += trial.inputs.size() + trial.ids.size() + trial.parameters.size();
        const auto add = [&, prefix = name + "/"](const std::string& kind, const std::string& key,
                                                  const Tensor& ours, double floor) {
            const Tensor& theirs = fixture.file.at(prefix + kind + key, ours.shape());
            const Tensor& single = fixture.file.at(prefix + kind + "32" + key, ours.shape());
            Distance d = distance(prefix + kind + key, ours, theirs, floor);
            d.of_pytorch = distance("", single, theirs, floor).relative;
            d.is_gradient = kind == "grad";
            list.push_back(d);
            used += 2;
        };
        const auto [y, backward] = trial.forward();
        add("output", "", y, 0);
        if (!component.has_gradient) continue;

        zero_grad(trial.parameters);
        auto gradients = backward(fixture.file.at(name + "/cotangent", y.shape()));
        ++used;
        for (const NamedParameter& p : trial.parameters) gradients[p.name] = p.parameter->grad();
        double all = 0;
        for (const auto& [key, ours] : gradients)
            all = std::max(all, largest(fixture.file.at(name + "/grad." + key, ours.shape())));
        for (const auto& [key, ours] : gradients) {
            const bool zero =
                largest(fixture.file.at(name + "/grad." + key, ours.shape())) < 1e-9 * all;
            add("grad", "." + key, ours, zero ? all : 0.01 * all);
        }
    }
    if (used != fixture.file.tensors.size())
        throw std::runtime_error(fmt::format("the fixture of {} has {} tensors, expected {}",
                                             component.name, fixture.file.tensors.size(), used));
    return list;
}

Differences check_differences(const Component& component, std::uint64_t seed) {
    Random random(seed);
    const Trial trial = component.make(random_sizes(random.stream()), random);
    return differences(trial, random);
}

}  // namespace abh::proof
