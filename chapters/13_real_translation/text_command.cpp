#include "chapters/13_real_translation/text_command.hpp"

#include <fmt/format.h>

#include "chapters/13_real_translation/data/tatoeba.hpp"
#include "chapters/13_real_translation/text_report.hpp"
#include "lib/io/files.hpp"
#include "lib/program/program.hpp"

namespace abh {
// [text]
TextCommand::TextCommand(Options& parent)
    : command_(parent.command("text", "the sentences, and what they are cut into")) {
    command_.add("--write", folder_, "only write train.tsv, dev.tsv and test.tsv there");
}

namespace {

void write_parts(const ParallelText& text, const std::filesystem::path& folder) {
    const auto write = [&](const char* name, const std::vector<TextPair>& pairs) {
        std::string lines;
        for (const TextPair& pair : pairs) lines += pair.source + '\t' + pair.target + '\n';
        AtomicFile file(folder / name);
        file.write(lines);
        file.commit();
        fmt::print("{}: {} pairs\n", (folder / name).string(), pairs.size());
    };
    write("train.tsv", text.train);
    write("dev.tsv", text.dev);
    write("test.tsv", text.test);
}

}  // namespace

void TextCommand::run(Results& results) {
    CleanCounts counts;
    const ParallelText text = tatoeba(&counts);
    if (!folder_.empty()) return write_parts(text, folder_);
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
