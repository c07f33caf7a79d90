#include "chapters/13_real_translation/score_command.hpp"
#include "chapters/13_real_translation/search_command.hpp"
#include "chapters/13_real_translation/text_command.hpp"
#include "chapters/13_real_translation/train_command.hpp"
#include "chapters/13_real_translation/translate_command.hpp"
#include "lib/program/program.hpp"

using namespace abh;
// [main]
int main(int argc, char** argv) {
    Program program("Translate real sentences.");
    Options& options = program.options();
    TextCommand text(options);
    ScoreCommand score(options);
    SearchCommand search(options);
    TrainCommand train(options);
    TranslateCommand translate(options);
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        if (text.chosen()) return text.run(results);
        if (score.chosen()) return score.run(results, program.seed());
        if (search.chosen()) return search.run(results, program.seed());
        if (translate.chosen()) return translate.run(results, program.seed());
        train.run(results, program.seed());
    });
}
