// The whole Transformer against PyTorch: fixtures made by tests/golden/make_fixtures.py.
#include <algorithm>
#include <cmath>
#include <memory>

#include "chapters/09_training/loss.hpp"
#include "chapters/09_training/optimizer.hpp"
#include "chapters/09_training/transformer.hpp"
#include "lib/safetensors.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

/// One of the four source systems at the fixtures' size, without dropout.
struct System {
    const char* name;
    TransformerOptions options;
    Real smoothing = 0;
};

TransformerOptions sized(const LayerOptions& layer) {
    TransformerOptions o;
    o.src_words = 11;
    o.tgt_words = 13;
    o.n_encoder_layers = o.n_decoder_layers = 2;
    o.layer = layer;
    o.layer.attention.d_model = 12;
    o.layer.attention.n_heads = 3;
    o.layer.d_ff = 17;
    o.positions.max_len = 9;
    return o;
}

std::vector<System> systems() {
    System toy{"toy", sized(toy_layer())};
    toy.options.output_bias = false;
    const System notebook{"notebook", sized(notebook_layer())};
    System article{"article", sized(notebook_layer()), Real(0.1)};
    article.options.embedding = {.scale = true, .padding_id = 0};
    System shared{"shared_heads", sized(shared_head_layer())};
    shared.options.layer.attention.attention.scale = 1 / std::sqrt(Real(12));
    shared.options.positions.kind = Positions::learned;
    shared.options.mask_target_pads = false;
    return {toy, notebook, article, shared};
}

TensorFile fixture(const System& system) {
    return load_safetensors(std::string(ABH_GOLDEN) + "/" + system.name + ".safetensors");
}

const Tensor& tensor(const TensorFile& file, const std::string& name) {
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end()) FAIL("the fixture has no tensor " << name);
    return found->second;
}

Ids ids(const TensorFile& file, const std::string& name) {
    const Tensor& values = tensor(file, name);
    Ids result(values.shape());
    std::transform(values.values().begin(), values.values().end(), result.data(),
                   [](Real value) { return static_cast<std::int32_t>(value); });
    return result;
}

Transformer model_of(const System& system, const TensorFile& file) {
    Transformer model(system.options, Random(1));
    for (const NamedParameter& p : parameters_of(model))
        p.parameter->value = file.at("param." + p.name, p.parameter->value.shape()).clone();
    return model;
}

/// Loss of the fixture's batch; the gradients are added to those of the model.
double step(Transformer& model, const System& system, const TensorFile& file,
            Tensor* logits = nullptr) {
    Transformer::Cache cache;
    CrossEntropyCache loss_cache;
    const Tensor y = model.forward(ids(file, "src"), ids(file, "tgt"), &cache);
    const double loss = cross_entropy(y, ids(file, "target"), {0, system.smoothing}, &loss_cache);
    model.backward(cross_entropy_backward(loss_cache), cache);
    if (logits) *logits = y;
    return loss;
}

double largest_of(const Tensor& t) {
    double largest = 0;
    for (Real x : t.values()) largest = std::max(largest, std::abs(static_cast<double>(x)));
    return largest;
}

/// Every element within `bound` times the tensor's largest, or times `floor` if that is more.
void check_near(const std::string& name, const Tensor& ours, const Tensor& theirs, double bound,
                double floor = 0.01) {
    REQUIRE(ours.shape() == theirs.shape());
    const double largest = std::max(floor, largest_of(theirs));
    double worst = -1;
    Index at = 0;
    for (Index i = 0; i < ours.size(); ++i) {
        const double error =
            std::abs(static_cast<double>(ours.data()[i]) - static_cast<double>(theirs.data()[i])) /
            largest;
        if (!(error <= worst)) worst = error, at = i;
        if (std::isnan(error)) break;
    }
    INFO(name << ": element " << at << " is " << ours.data()[at] << ", PyTorch has "
              << theirs.data()[at] << ", " << worst << " of the largest");
    CHECK(worst <= bound);
}

// Round-off through some forty operations. It measures 1e-13 and 1e-6 at worst, with AVX-512.
constexpr double bound = in_double ? 1e-12 : 5e-6;

}  // namespace

TEST_CASE("logits and loss of the four source systems are those of PyTorch") {
    for (const System& system : systems()) {
        INFO(system.name);
        const TensorFile file = fixture(system);
        Transformer model = model_of(system, file);
        Tensor logits;
        const double loss = step(model, system, file, &logits);
        check_near("logits", logits, tensor(file, "logits"), bound);
        const double expected = static_cast<double>(tensor(file, "loss").data()[0]);
        CHECK(std::abs(loss - expected) <= bound * expected);
    }
}

TEST_CASE("the gradient of every parameter of the four source systems is that of PyTorch") {
    for (const System& system : systems()) {
        INFO(system.name);
        const TensorFile file = fixture(system);
        Transformer model = model_of(system, file);
        step(model, system, file);
        // The gradients of queries and keys are small differences of large terms, and that of a
        // key's bias is zero: in float their round-off is that of the model's large gradients.
        double floor = 0.01;
        if (!in_double)
            for (const auto& [name, values] : file.tensors)
                if (name.starts_with("grad.")) floor = std::max(floor, largest_of(values));
        std::size_t compared = 0;
        for (const NamedParameter& p : parameters_of(model)) {
            check_near(p.name, p.parameter->grad(), tensor(file, "grad." + p.name), bound, floor);
            ++compared;
        }
        const auto of_gradients =
            std::count_if(file.tensors.begin(), file.tensors.end(),
                          [](const auto& entry) { return entry.first.starts_with("grad."); });
        CHECK(compared == static_cast<std::size_t>(of_gradients));
    }
}

TEST_CASE("ten steps of sgd and adam with warm-up end where PyTorch ends") {
    // ten steps multiply the round-off of one; it measures 1e-13 and 4e-5 at worst, with AVX-512
    const double after_steps = in_double ? 1e-11 : 1e-4;
    for (const System& system : systems())
        for (const std::string method : {"sgd", "adam"}) {
            INFO(system.name << ", " << method);
            const TensorFile file = fixture(system);
            Transformer model = model_of(system, file);
            const Parameters parameters = parameters_of(model);
            std::unique_ptr<Optimizer> optimizer;
            if (method == "sgd")
                optimizer = std::make_unique<Sgd>(parameters, Real(0.9));
            else
                optimizer = std::make_unique<Adam>(parameters);
            for (Index n = 1; n <= 10; ++n) {
                zero_grad(parameters);
                step(model, system, file);
                optimizer->step(learning_rate(n, Real(0.01), 4));
            }
            for (const NamedParameter& p : parameters) {
                // the gradient of a key's bias is round-off, and Adam divides it by its own size
                if (method == "adam" && p.name.ends_with("w_k.bias")) continue;
                check_near(p.name, p.parameter->value, tensor(file, method + "." + p.name),
                           after_steps);
            }
        }
}
