// Once: a published model against what the transformers library makes of the same file, where it
// is.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "chapters/15_language_model/published_commands.hpp"
#include "lib/io/files.hpp"
#include "tests/support.hpp"

using namespace abh;
namespace fs = std::filesystem;

namespace {

const fs::path fixtures = ABH_GOLDEN;
const fs::path smollm2_file = fixtures.parent_path().parent_path() / "build/models/smollm2.gguf";

using PieceIds = std::vector<std::int32_t>;

PieceIds greedy(const Published& p, PieceIds pieces, std::size_t most) {
    const std::size_t begin = pieces.size();
    Continuation text(p.model, static_cast<Index>(begin + most));
    say(p, text, pieces, {.temperature = 0}, Random(1).stream(), static_cast<Index>(most),
        [](const std::string&) {});
    return PieceIds(pieces.begin() + static_cast<std::ptrdiff_t>(begin), pieces.end());
}

}  // namespace

TEST_CASE("SmolLM2 continues, answers and predicts as in the transformers library") {
    if (!fs::exists(smollm2_file)) {
        WARN(smollm2_file.string()
             << " is missing, so this was not compared; ./book model smollm2");
        return;
    }
    const auto expected = nlohmann::json::parse(read_file(fixtures / "smollm2.json"));
    const Published p = load_published(smollm2_file);
    for (const auto& item : expected.at("continuations")) {
        const std::string prompt = item.at("prompt");
        CAPTURE(prompt, item.at("least_lead").get<double>());
        const PieceIds pieces = item.at("pieces");
        CHECK(p.tokenizer.encode(prompt) == pieces);
        PieceIds more = item.at("more");
        if (const auto end = std::ranges::find(more, p.end); end != more.end())
            more.erase(end + 1, more.end());  // we stop there, the reference went on
        CHECK(greedy(p, pieces, more.size()) == more);
    }
    for (const auto& item : expected.at("chats")) {
        PieceIds pieces = message_pieces(p, "system", usual_system);
        for (const auto& more : {message_pieces(p, "user", item.at("question")), answer_begins(p)})
            pieces.insert(pieces.end(), more.begin(), more.end());
        CHECK(pieces == item.at("pieces").get<PieceIds>());
        const PieceIds answer = item.at("answer");
        CHECK(greedy(p, pieces, answer.size()) == answer);
    }
    const std::string story = read_file(fixtures.parent_path().parent_path() /
                                        "chapters/15_language_model/data/oven.txt");
    const PieceIds pieces = p.tokenizer.encode(story);
    CHECK(std::ssize(pieces) == expected.at("story").at("pieces").get<Index>());
    // three digits of the perplexity
    CHECK(mean_surprise(p.model, pieces, std::ssize(pieces)) ==
          Approx(expected.at("story").at("surprise").get<double>()).margin(5e-4));
}
