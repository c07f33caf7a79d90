#include "chapters/14_on_many_machines/data_parallel/gradient_watch.hpp"

#include <algorithm>
#include <stdexcept>

namespace abh {
// [construct]
GradientWatch::GradientWatch(const Parameters& parameters, std::function<void()> turned)
    : parameters_(parameters), turned_(std::move(turned)) {
    for (const NamedParameter& p : parameters_) {
        const std::string layer = p.name.substr(0, p.name.rfind('.'));
        const auto known = std::ranges::find(layers_, layer);
        layer_.push_back(static_cast<std::size_t>(known - layers_.begin()));
        if (known == layers_.end()) layers_.push_back(layer);
    }
}

GradientWatch::~GradientWatch() {
    if (watches_) listen(false);  // backward has thrown
}
// [turns]
void GradientWatch::listen(bool on) {
    watches_ = on;
    for (std::size_t p = 0; p < parameters_.size(); ++p)
        parameters_[p].parameter->gradient.before_add(on ? [this, p] { add(layer_[p]); }
                                                         : std::function<void()>());
}

void GradientWatch::begin(Index backwards) {
    backwards_ = backwards;
    so_far_.assign(layers_.size(), 0);
    now_ = layers_.size();  // nobody's
    if (backwards > 0) listen(true);
}

void GradientWatch::add(std::size_t layer) {
    if (!watches_ || layer == now_) return;
    now_ = layer;
    ++so_far_[layer];
    if (turns_.empty()) return;  // this is the first backward
    if (so_far_[layer] > backwards_ * turns_[layer])
        throw std::logic_error(fmt::format(
            "gradient watch: {} adds to its gradients, which were complete", layers_[layer]));
    watches_ = false;  // who is told may ask for gradients
    turned_();
    watches_ = true;
}

bool GradientWatch::complete(std::size_t parameter) const {
    const std::size_t layer = layer_[parameter];
    return !turns_.empty() && layer != now_ && so_far_[layer] == backwards_ * turns_[layer];
}

void GradientWatch::end() {
    if (!watches_) return;
    listen(false);
    if (turns_.empty())
        for (const Index count : so_far_) turns_.push_back(count / backwards_);
}

}  // namespace abh
