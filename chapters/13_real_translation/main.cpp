#include "chapters/13_real_translation/commands.hpp"
#include "lib/program/program.hpp"

using namespace abh;
// [main]
int main(int argc, char** argv) {
    Program program("Train a translator on real sentences, score it, and translate with it");
    Options& options = program.options();
    Options text = options.command("text", "show the sentences and their pieces");
    std::filesystem::path folder;
    text.add("--write", folder, "folder for train.tsv, dev.tsv and test.tsv; write them and stop");
    ScoreCommand score(options);
    const Options search =
        options.command("search", "show beam search by hand, on models of three words");
    const Options bits =
        options.command("bits", "score the translator in products of 32, 16 and 8 bits");
    TrainCommand train(options);
    program.add_precision();
    TranslateCommand translate(options);
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        if (text.chosen()) return folder.empty() ? show_text(results) : write_text(folder);
        if (score.chosen()) return score.run(results, program.seed());
        if (search.chosen()) return show_search(results, program.seed());
        if (bits.chosen())
            return show_bits(default_translator(program.seed()), results, program.seed());
        if (translate.chosen()) return translate.run(results, program.seed());
        program.use_precision();
        train.run(results, program.seed());
    });
}
