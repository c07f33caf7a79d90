#include "chapters/13_real_translation/text_command.hpp"

#include "chapters/13_real_translation/tatoeba.hpp"
#include "chapters/13_real_translation/text_report.hpp"
#include "lib/program/program.hpp"

namespace abh {
// [text]
TextCommand::TextCommand(CLI::App& parent)
    : command_(parent.add_subcommand("text", "the sentences, and what they are cut into")) {
    command_->fallthrough();
}

void TextCommand::run(Results& results) {
    CleanCounts counts;
    const ParallelText text = tatoeba(&counts);
    section("The data");
    show_data(text, counts, results);
    section("Words that training has not seen");
    show_unknown(text, results);
    section("Byte pair encoding, by hand");
    show_merges(results);
    section("Sentences in pieces");
    show_pieces(text, results);
    section("How many pieces");
    show_vocabulary_sizes(text, results);
}

}  // namespace abh
