#include "chapters/13_real_translation/score_command.hpp"
#include "chapters/13_real_translation/search_command.hpp"
#include "chapters/13_real_translation/segment_command.hpp"
#include "chapters/13_real_translation/text_command.hpp"
#include "chapters/13_real_translation/train_command.hpp"
#include "chapters/13_real_translation/translate_command.hpp"
#include "lib/program/program.hpp"

using namespace abh;
// [main]
int main(int argc, char** argv) {
    Program program("Translate real sentences.");
    CLI::App& app = program.app();
    app.require_subcommand(0, 1);
    TextCommand text(app);
    SegmentCommand segment(app);
    ScoreCommand score(app);
    SearchCommand search(app);
    TrainCommand train(app);
    TranslateCommand translate(app);
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        if (text.parsed()) return text.run(results);
        if (segment.parsed()) return segment.run(results);
        if (score.parsed()) return score.run(results, program.seed());
        if (search.parsed()) return search.run(results, program.seed());
        if (translate.parsed()) return translate.run(results, program.seed());
        train.run(results, program.seed());
    });
}
