#include "chapters/13_real_translation/segment_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "chapters/09_training/corpus.hpp"
#include "chapters/13_real_translation/data/tatoeba.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/search/translate_lines.hpp"
#include "lib/io/files.hpp"

namespace abh {
// [options]
SegmentCommand::SegmentCommand(Options& parent)
    : command_(parent.command("segment", "lines of standard input as pieces of words")) {
    command_.add("--model", model_, "file of a SentencePiece model");
    command_.add("--pieces", n_pieces_, "without --model: learn as many from the data")
        .range(300, 100'000);
    command_.add("--save", save_, "write the model into this file");
    command_.flag("--ids", ids_, "numbers in place of pieces");
    command_.flag("--join", join_, "the other way: pieces, or ids, to text");
}
// [line]
namespace {

std::int32_t parse_id(const std::string& word) {
    const bool digits = word.find_first_not_of("0123456789") == word.npos;
    require(digits && word.size() <= 9, "{}: expected the number of a piece", printable(word, 20));
    return std::stoi(word);
}

}  // namespace

std::string SegmentCommand::answer(const Subwords& subwords, const std::string& line) const {
    if (!join_) {
        const std::string text = tidy(line);
        return ids_ ? fmt::format("{}", fmt::join(subwords.encode(text), " "))
                    : fmt::format("{}", fmt::join(subwords.pieces(text), " "));
    }
    if (!ids_) return tidy(subwords.join(split_words(line)));
    std::vector<std::int32_t> ids;
    for (const std::string& word : split_words(line)) ids.push_back(parse_id(word));
    return tidy(subwords.decode(ids));
}
// [run]
void SegmentCommand::run(Results& results) {
    const Subwords subwords = model_.empty()
                                  ? Subwords::train(both_sides(tatoeba().train), n_pieces_)
                                  : load_subwords(model_);
    results.set("pieces", static_cast<double>(subwords.size()));
    if (!save_.empty()) {
        AtomicFile file(save_);
        file.write(subwords.model());
        file.commit();
    }
    LineReader in(STDIN_FILENO);
    Index number = 0;
    for (std::string line; in.next(line);) {
        ++number;
        try {
            require(line.size() <= in.longest(), "longer than {} bytes", in.longest());
            fmt::print("{}\n", answer(subwords, line));
        } catch (const std::invalid_argument& error) {
            fmt::print("\n");  // an output line for each input line
            fmt::print(stderr, "line {}: {}\n", number, printable(error.what()));
        }
    }
}

}  // namespace abh
