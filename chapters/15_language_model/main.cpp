#include "chapters/15_language_model/experiment.hpp"
#include "chapters/15_language_model/leak.hpp"
#include "chapters/15_language_model/published_commands.hpp"
#include "chapters/15_language_model/sample.hpp"
#include "chapters/15_language_model/tatoeba.hpp"
#include "lib/device.hpp"
#include "lib/program/program.hpp"

using namespace abh;

int main(int argc, char** argv) {
    Program program("One stack that only continues text");
    Options& options = program.options();
    const Options seeds = options.command("seeds", "the same over five seeds"),
                  parts = options.command("parts", "one part at a time as it was in 2017"),
                  leak = options.command("leak", "five stacks that see the future"),
                  tatoeba = options.command("tatoeba", "both kinds of model on real sentences"),
                  choices = options.command("choices", "how often what is drawn is a sentence");
    Options sample = options.command("sample", "continue a text, drawing word by word");
    SampleOptions o;
    sample.add("--prompt", o.prompt, "the text to continue");
    sample.add("--temperature", o.choice.temperature, "0 takes the likeliest word, 2 dares more")
        .range(0.0, 100.0);
    sample.add("--top-k", o.choice.top_k, "draw from so many words at most; 0: all")
        .range(0, 1'000'000);
    sample.add("--top-p", o.choice.top_p, "draw from the fewest words with this probability");
    sample.add("--times", o.times, "how many continuations").range(1, 1000);
    sample.add("--words", o.words, "the most words of one").range(1, 512);
    sample.add("--top", o.top, "print the likeliest next words instead").range(1, 1000);
    sample.add("--attention", o.attention, "SVG file for where the first text's words look");
    PublishedCommands published(options);
    return program.run(argc, argv, [&] {
        require(!on_cuda(), "chapter 15 has no kernels: --way cuda, expected plain or fast");
        Results& results = program.results();
        if (published.run(results, program.seed())) return;
        if (seeds.chosen()) return show_experiment(5, 1, results);
        if (parts.chosen()) return show_parts(5, results);
        if (leak.chosen()) return show_leak(5, results);
        if (tatoeba.chosen()) return show_tatoeba(3, results);
        if (choices.chosen()) return show_choices(5, results);
        if (sample.chosen()) return show_samples(o, program.seed(), results);
        show_experiment(1, program.seed(), results);
    });
}
