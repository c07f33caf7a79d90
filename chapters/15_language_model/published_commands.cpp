#include "chapters/15_language_model/published_commands.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "chapters/09_training/loss/argmax.hpp"
#include "chapters/15_language_model/continuation.hpp"
#include "lib/io/files.hpp"
#include "lib/io/text.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [interrupt]
namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Ctrl-C ends what is being said, and a question that is being asked.
void listen_for_interrupt() {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    ::sigaction(SIGINT, &action, nullptr);  // without SA_RESTART, so a read ends, too
    std::signal(SIGPIPE, SIG_DFL);          // a closed output ends this program quietly
}

void show(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
}

void show_pace(const Pace& pace) {
    const auto rate = [](Index n, double seconds) {
        return seconds > 0 ? static_cast<double>(n) / seconds : 0;
    };
    fmt::print(stderr, "[{} tokens read, {:.0f} a second; {} said, {:.0f} a second]\n", pace.read,
               rate(pace.read, pace.reading), pace.said, rate(pace.said, pace.saying));
}

/// Without sorting all pieces if only the likeliest is wanted.
std::int32_t chosen(const Tensor& logits, const SamplingOptions& choice, Real u) {
    if (choice.temperature > 0) return sample(sampling_probabilities(logits, choice), u);
    return argmax(logits.reshape({1, 1, logits.size()}))(0, 0).word;
}

}  // namespace
// [say]
Pace say(const Published& p, Continuation& text, std::vector<std::int32_t>& pieces,
         const SamplingOptions& choice, const Stream& stream, Index most,
         const std::function<void(const std::string&)>& show) {
    Pace pace{.read = std::ssize(pieces) - text.length()};
    const double begin = steady_ms();
    Tensor logits = text.next(std::span(pieces).subspan(static_cast<std::size_t>(text.length())));
    const double read = steady_ms();
    pace.reading = (read - begin) / 1000;
    TextStream shown;
    while (!interrupted) {
        pieces.push_back(chosen(logits, choice, stream.uniform(std::ssize(pieces))));
        ++pace.said;
        if (pieces.back() == p.end) break;
        show(shown.add(p.tokenizer.piece(pieces.back())));
        if (pace.said == most || text.length() == text.room()) break;
        logits = text.next(pieces.back());
    }
    show(shown.end());
    pace.saying = (steady_ms() - read) / 1000;
    return pace;
}
std::string said(const Published& p, std::vector<std::int32_t> pieces, Index most, Pace& pace) {
    Continuation text(p.model, std::ssize(pieces) + most);
    std::string all;
    pace = say(p, text, pieces, {.temperature = 0}, Random(1).stream(), most,
               [&](const std::string& more) { all += more; });
    return all;
}

// [options]
PublishedCommands::PublishedCommands(Options& parent)
    : continue_(parent.command("continue", "continue a text with a published model")),
      chat_(parent.command("chat", "talk to a published model")),
      perplexity_(parent.command("perplexity", "how well a published model predicts a text")),
      published_(parent.command("published", "what the book shows of a published model")),
      bits_(parent.command("bits", "a published model in 32, 16, 8 and 4 bits")),
      model_(ABH_MODEL) {
    continue_.add("prompt", prompt_, "the text to continue");
    perplexity_.add("file", text_, "a text in UTF-8");
    perplexity_.add("--window", window_, "so many tokens are read at a time").range(2, 1 << 20);
    chat_.add("--system", system_, "what the model is told first");
    for (Options* command : {&continue_, &chat_, &perplexity_, &published_, &bits_})
        command
            ->add("--model", model_,
                  "GGUF file, or a folder of transformers with model.safetensors, config.json and "
                  "tokenizer.json")
            .default_shown("build/models/smollm2.gguf");
    for (Options* command : {&continue_, &chat_}) {
        command->add("--temperature", choice_.temperature, "0 takes the likeliest token")
            .range(0.0, 100.0);
        command->add("--top-k", choice_.top_k, "draw from so many tokens at most; 0: all")
            .range(0, 1'000'000);
        command->add("--top-p", choice_.top_p, "draw from the fewest with this probability");
        command->add("--tokens", tokens_, "the most that are said at a time").range(1, 1 << 20);
    }
}
// [run]
namespace {

Published load(const std::filesystem::path& path) {
    require(std::filesystem::exists(path),
            "{} is missing; `./book model smollm2` downloads SmolLM2, and --model names another",
            printable(path.string()));
    return load_published(path);
}

Index room_for(const Published& p, Index pieces, Index more) {
    const Index context = p.model.options().context;
    require(pieces < context, "the text has {} tokens, but the model's context has {}", pieces,
            context);
    return std::min(context, pieces + more);
}
// [chat]
/// The next line of standard input, without its end; false at the end, or after Ctrl-C.
bool ask(std::string& line) {
    if (::isatty(STDIN_FILENO)) show("\n> ");
    interrupted = 0;
    if (!std::getline(std::cin, line) || interrupted) return false;
    require(is_utf8(line), "the question is not UTF-8 at byte {}", find_bad_utf8(line) + 1);
    return true;
}

void chat(const Published& p, const std::string& system, const SamplingOptions& choice,
          const Stream& stream, Index most) {
    std::vector<std::int32_t> pieces = message_pieces(p, "system", system);
    const auto add = [&](const std::vector<std::int32_t>& more) {
        pieces.insert(pieces.end(), more.begin(), more.end());
    };
    Continuation text(p.model);
    for (std::string line; ask(line);) {
        if (line.empty()) continue;
        add(message_pieces(p, "user", line));
        add(answer_begins(p));
        if (std::ssize(pieces) >= text.room())
            return fmt::print(stderr,
                              "[the conversation has {} tokens, and the model's context is "
                              "full]\n",
                              pieces.size());
        const Pace pace = say(p, text, pieces, choice, stream, most, show);
        show("\n");
        show_pace(pace);
        if (pieces.back() != p.end) pieces.push_back(p.end);  // as the template ends every message
        add(p.tokenizer.encode("\n"));
    }
}

}  // namespace
// [command]
bool PublishedCommands::run(Results& results, std::uint64_t seed) {
    const std::array all{&continue_, &chat_, &perplexity_, &published_, &bits_};
    if (std::ranges::none_of(all, &Options::chosen)) return false;
    const Stream stream = Random(seed).stream();
    if (continue_.chosen()) require(!prompt_.empty(), "the prompt is empty, expected a text");
    if (perplexity_.chosen()) require(!text_.empty(), "perplexity: of which file?");
    sampling_probabilities(Tensor({1}, {0}), choice_);  // refuses options that are out of range
    const std::string file = perplexity_.chosen() ? read_file(text_, 1 << 26) : "";
    const Published p = load(model_);
    listen_for_interrupt();
    if (chat_.chosen()) {
        chat(p, system_, choice_, stream, tokens_);
    } else if (continue_.chosen()) {
        std::vector<std::int32_t> pieces = p.tokenizer.encode(prompt_);
        Continuation text(p.model, room_for(p, std::ssize(pieces), tokens_));
        TextStream prompt;
        show(prompt.add(prompt_) + prompt.end());
        const Pace pace = say(p, text, pieces, choice_, stream, tokens_, show);
        show("\n");
        show_pace(pace);
    } else if (published_.chosen()) {
        show_published(p, results);
    } else if (bits_.chosen()) {
        show_bits(p, results);
    } else {
        const std::vector<std::int32_t> pieces = p.tokenizer.encode(file);
        const double surprise =
            mean_surprise(p.model, pieces, std::min(window_, p.model.options().context));
        fmt::print("{} tokens, perplexity {:.3f}\n", pieces.size(), std::exp(surprise));
        results.set("tokens", pieces.size());
        results.set_varying("perplexity", std::exp(surprise));
    }
    return true;
}

}  // namespace abh
