// The widgets of chapters 5, 9, 10 and 13: a checkpoint translates, a search branches, a model is
// trained. Requests and answers are JSON.
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "calls.hpp"
#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/09_training/data/batches.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "chapters/09_training/model/checkpoint.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/13_real_translation/search/beam_search.hpp"

using namespace abh;
using live::text;
using nlohmann::json;

// [model]
namespace {

/// What translates.
struct Translator {
    Transformer model;
    Vocabulary source;
    std::int32_t start, end;
};

/// A model in training, and its batches.
struct Session {
    Task task;
    Stream of_pairs, of_batches;
    Batches batches;
    Trainer trainer;
    Index step = 0, next = 0;

    Session(Task t, Transformer& model)
        : task(std::move(t)),
          of_pairs(model.random().stream()),
          of_batches(model.random().stream()),
          batches(task.corpus.train, task.training.batch_size, task.training.bucket_by_length),
          trainer(model, task.training) {}
};

std::unique_ptr<Translator> open_model;
std::unique_ptr<Session> session;  ///< of the open model

/// Makes room for another model. A session must not outlive the weights that it moves.
void close_model() {
    session.reset();
    open_model.reset();
}

Translator& translator() {
    require(open_model != nullptr, "no checkpoint is open");
    return *open_model;
}

/// The source of a request: its `words`, with spaces between them.
Ids source_of(const json& request) {
    return source_ids(translator().source, split_words(request.at("words")));
}

/// Seven decimals of a weight are more than a picture shows.
json list(const Tensor& t) {
    json numbers = json::array();
    for (const Real x : t.values()) numbers.push_back(std::round(x * 1e7) / 1e7);
    return numbers;
}

json maps(const Transformer::AttentionWeights& weights) {
    json all;
    for (const Tensor& layer : weights.encoder) all["encoder"].push_back(list(layer));
    for (const auto& layer : weights.decoder) {
        all["self"].push_back(list(layer.self));
        all["cross"].push_back(list(layer.cross));
    }
    return all;
}

/// The likeliest words of each row of logits [1, t, words]: [[id, probability], ...].
json candidates(const Tensor& logits) {
    json rows = json::array();
    const Index n = std::min<Index>(6, logits.dim(2));
    for (Index t = 0; t < logits.dim(1); ++t) {
        const BasicTensor<Choice> found =
            top_k(logits.reshape({logits.dim(1), 1, logits.dim(2)}).rows(t, t + 1), n);
        json best = json::array();
        for (const Choice& c : found.values())
            best.push_back({c.word, std::exp(c.log_probability)});
        rows.push_back(best);
    }
    return rows;
}

/// What the decoder reads: the start symbol, then `words`.
Ids after_start(const std::vector<std::int32_t>& words, std::size_t count) {
    Ids read({1, static_cast<Index>(count) + 1});
    read(0, 0) = translator().start;
    std::copy_n(words.begin(), count, read.values().begin() + 1);
    return read;
}

}  // namespace

extern "C" {

/// Reads the file that was put where `live_file` said.
/// @param name  for messages
EMSCRIPTEN_KEEPALIVE const char* live_open(const char* name) {
    return text([&] {
        close_model();
        Checkpoint c = load_checkpoint(name);
        const std::int32_t start = c.target.id(start_word), end = c.target.id(end_word);
        json about{{"options", json::parse(to_json(c.model.options()))},
                   {"parameters", count_elements(parameters_of(c.model))},
                   {"source", c.source.words()},
                   {"target", c.target.words()},
                   {"end", end}};
        open_model = std::make_unique<Translator>(
            Translator{std::move(c.model), std::move(c.source), start, end});
        return about.dump();
    });
}
// [translate]
/// Greedy decoding, by `greedy_decode` and, if "cached", by `greedy_decode_cached`.
/// @return ids, probabilities, whether the end came, and without "cached" for each step the
///         likeliest words, the maps of the last pass, and how many products either way computes
EMSCRIPTEN_KEEPALIVE const char* live_translate(const char* asked) {
    return text([&] {
        const json request = json::parse(asked);
        const Transformer& model = translator().model;
        const Ids src = source_of(request);
        const DecodingOptions options{translator().start, translator().end,
                                      request.value("max_words", Index{50})};
        const bool cached = request.value("cached", false);
        const Translation found = cached ? greedy_decode_cached(model, src, options).front()
                                         : greedy_decode(model, src, options, true);
        json result{{"source", src.values()},
                    {"ids", found.ids},
                    {"probabilities", found.probabilities},
                    {"finished", found.finished}};
        if (cached) return result.dump();
        const std::size_t steps = found.probabilities.size();
        result["steps"] = candidates(model.logits(src, after_start(found.ids, steps - 1)));
        result["maps"] = maps(found.weights);
        for (const bool kept : {false, true})
            result["products"].push_back(decoder_multiply_adds(model.options(), src.dim(1),
                                                               static_cast<Index>(steps), kept));
        return result.dump();
    });
}
/// One step: what may come after the words "prefix", which a reader chooses.
EMSCRIPTEN_KEEPALIVE const char* live_next(const char* asked) {
    return text([&] {
        const json request = json::parse(asked);
        const Transformer& model = translator().model;
        const Ids src = source_of(request);
        const auto prefix = request.at("prefix").get<std::vector<std::int32_t>>();
        Transformer::AttentionWeights weights;
        const Tensor y = model.forward(src, after_start(prefix, prefix.size()), nullptr, &weights);
        return json{{"source", src.values()},
                    {"steps", candidates(model.output.forward(y))},
                    {"maps", maps(weights)}}
            .dump();
    });
}
// [search]
/// A beam search, as `beam_search` does it, with every round.
/// @return rounds: the prefixes that go on, with parent, last word and sum; hypotheses, best first
EMSCRIPTEN_KEEPALIVE const char* live_search(const char* asked) {
    return text([&] {
        const json request = json::parse(asked);
        const Transformer& model = translator().model;
        const Ids src = source_of(request);
        BeamOptions options{.start = translator().start, .end = translator().end};
        options.beam = options.n_best = request.value("beam", Index{4});
        options.length_penalty = request.value("length_penalty", Real(1));
        options.max_more = 50;
        options.never = {model.options().pad, translator().start};
        require(options.beam >= 1 && options.beam <= 16, "beam {}, expected 1 to 16", options.beam);
        json result{{"source", src.values()}};
        const auto note_round = [&](std::span<const Beam> beams) {
            json round = json::array();
            for (const Beam::Prefix& p : beams.front().prefixes())
                round.push_back({p.words.back(), p.parent, p.log_probability});
            result["rounds"].push_back(round);
        };
        const auto found = beam_search(model, src, options, note_round);
        for (const Hypothesis& h : found.front())
            result["hypotheses"].push_back({{"ids", h.ids},
                                            {"score", h.score},
                                            {"log_probability", h.log_probability},
                                            {"finished", h.finished}});
        return result.dump();
    });
}

}  // extern "C"
// [training]
extern "C" {

/// Begins with random weights, as chapter 9's program does.
/// @param asked  corpus: grammar, notebook or toy; options: of the model; seed; and optionally any
///               of optimizer, batch_size, smoothing
EMSCRIPTEN_KEEPALIVE const char* live_train(const char* asked) {
    return text([&] {
        const json request = json::parse(asked);
        std::optional<TransformerOptions> options;
        if (request.contains("options"))
            options = transformer_options(request.at("options").dump());
        session.reset();
        Task task = make_task(request.at("corpus"), {}, options);
        task.training.optimizer = request.value("optimizer", task.training.optimizer);
        task.training.batch_size = request.value("batch_size", task.training.batch_size);
        task.training.smoothing = request.value("smoothing", task.training.smoothing);
        Transformer model(task.model, Random(request.value("seed", std::uint64_t{1})));
        json about{{"options", json::parse(to_json(task.model))},
                   {"parameters", count_elements(parameters_of(model))},
                   {"pairs", task.corpus.train.size()},
                   {"batch_size", task.training.batch_size},
                   {"steps", count_steps(task.corpus, task.training)},
                   {"learning_rate", task.training.learning_rate},
                   {"warmup", task.training.warmup},
                   {"source", task.corpus.source.words()},
                   {"target", task.corpus.target.words()},
                   {"end", task.corpus.target.id(end_word)}};
        if (!task.corpus.held_out.empty())
            about["unseen"] = {join_words(task.corpus.held_out.front().source),
                               join_words(task.corpus.held_out.front().target)};
        open_model = std::make_unique<Translator>(Translator{std::move(model), task.corpus.source,
                                                             task.corpus.target.id(start_word),
                                                             task.corpus.target.id(end_word)});
        session = std::make_unique<Session>(std::move(task), open_model->model);
        return about.dump();
    });
}
/// A step of `train` with a learning rate of which `warmup` steps grow to `peak`. @return the loss
EMSCRIPTEN_KEEPALIVE double live_step(double peak, int warmup) {
    double loss = NAN;
    const int done = live::guarded([&] {
        require(session != nullptr, "no training has begun");
        Session& s = *session;
        if (s.next == 0) s.batches.draw(s.of_pairs, s.of_batches);
        const Real rate = learning_rate(s.step + 1, static_cast<Real>(peak), warmup);
        loss =
            s.trainer.step(make_batch(s.task.corpus, s.task.corpus.train, s.batches[s.next]), rate);
        s.next = (s.next + 1) % s.batches.count();
        ++s.step;
    });
    return done ? loss : NAN;
}

}  // extern "C"
