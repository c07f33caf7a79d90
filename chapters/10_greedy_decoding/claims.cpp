#include "chapters/10_greedy_decoding/claims.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <set>
#include <stdexcept>
#include <vector>

#include "chapters/09_training/data/grammar.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "chapters/09_training/loss/argmax.hpp"
#include "lib/eigen.hpp"

namespace abh {
namespace {

/// A batch of one pair, and the ids that the decoder should say.
struct Sentence {
    const SentencePair& pair;
    Ids src, read, said;  // [1, Ls], [1, Lt], [1, Lt]

    Sentence(const Corpus& corpus, const SentencePair& p) : pair(p) {
        const Batch batch = make_batch(corpus, std::span(&p, 1));
        src = batch.source.ids;
        read = batch.target_in.ids;
        said = batch.target_out;
    }
};

double exact(const Transformer& model, const Corpus& corpus) {
    return static_cast<double>(evaluate(model, corpus, corpus.held_out).exact);
}

/// The likeliest word at each place, if the decoder reads the right words and this memory.
/// @param seen  the source; where it has the pad, the decoder does not see the memory
std::vector<std::int32_t> likeliest(const Transformer& model, const Sentence& s,
                                    const Tensor& memory, const Ids& seen) {
    const Tensor logits = model.output.forward(model.decode(s.read, memory, seen));
    std::vector<std::int32_t> words;
    for (const Prediction& p : argmax(logits).values()) words.push_back(p.word);
    return words;
}
// [dictionary]
/// The Chinese characters of an English word; none for words such as *does*.
std::string characters(const std::string& english) {
    static const std::map<std::string, std::string> dictionary{
        {"I", "我"},         {"me", "我"},         {"you", "你"},       {"he", "他"},
        {"him", "他"},       {"she", "她"},        {"her", "她"},       {"they", "他们"},
        {"them", "他们"},    {"have", "有"},       {"has", "有"},       {"like", "喜欢"},
        {"likes", "喜欢"},   {"know", "认识"},     {"knows", "认识"},   {"not", "没不"},
        {"a", "一"},         {"an", "一"},         {"two", "两"},       {"this", "这"},
        {"good", "好"},      {"old", "老"},        {"girl", "女"},      {"boy", "男"},
        {"friend", "朋友"},  {"friends", "朋友"},  {"teacher", "老师"}, {"teachers", "老师"},
        {"student", "学生"}, {"students", "学生"}, {"child", "孩子"},   {"children", "孩子"}};
    const auto found = dictionary.find(english);
    return found == dictionary.end() ? "" : found->second;
}

/// Whether each character of the source belongs to this English word.
std::vector<bool> belong(const SentencePair& pair, const std::string& english) {
    std::vector<bool> own;
    for (const std::string& character : pair.source)
        own.push_back(characters(english).find(character) != std::string::npos);
    return own;
}
/// The characters of the nearest word that has some which do not belong to word t.
std::vector<bool> nearest_other(const SentencePair& pair, std::size_t t,
                                const std::vector<bool>& own) {
    for (std::size_t distance = 1; distance < pair.target.size(); ++distance)
        for (const std::size_t at : {t - distance, t + distance}) {
            if (at >= pair.target.size()) continue;  // also those before the first
            std::vector<bool> other = belong(pair, pair.target[at]);
            for (std::size_t i = 0; i < own.size(); ++i) other[i] = other[i] && !own[i];
            if (std::ranges::any_of(other, std::identity())) return other;
        }
    throw std::logic_error("claims: a sentence of one word");
}
// [looks]
/// How often the decoder's last cross-attention, a mean over its heads, is strongest at a character
/// of the very word that is said; and how often that word is still the likeliest, after the right
/// words, if the decoder cannot see its characters, or cannot see those of the nearest other word.
void add_looks(Claims& claims, const Transformer& model, const Corpus& corpus,
               const std::string& name, bool hide) {
    double words = 0, at_own = 0, hidden = 0, other_hidden = 0;
    for (const SentencePair& pair : corpus.held_out) {
        const Sentence s(corpus, pair);
        Transformer::AttentionWeights weights;
        model.forward(s.src, s.read, nullptr, &weights);
        const Tensor& cross = weights.decoder.back().cross;  // [1, H, Lt, Ls]
        const Tensor memory = model.encode(s.src);
        const auto right_without = [&](std::size_t at, const std::vector<bool>& unseen) {
            Ids seen = s.src.clone();
            for (std::size_t i = 0; i < unseen.size(); ++i)
                if (unseen[i]) seen(0, static_cast<Index>(i)) = model.options().pad;
            return likeliest(model, s, memory, seen)[at] == s.said.values()[at];
        };
        for (std::size_t t = 0; t < pair.target.size(); ++t) {
            const std::vector<bool> own = belong(pair, pair.target[t]);
            if (std::ranges::none_of(own, std::identity())) continue;
            ++words;
            std::vector<Real> mean(own.size());
            for (Index h = 0; h < cross.dim(1); ++h)
                for (std::size_t i = 0; i < own.size(); ++i)
                    mean[i] += cross(0, h, static_cast<Index>(t), static_cast<Index>(i));
            const auto strongest = std::ranges::max_element(mean) - mean.begin();
            at_own += own[static_cast<std::size_t>(strongest)];
            if (!hide) continue;
            hidden += right_without(t, own);
            other_hidden += right_without(t, nearest_other(pair, t, own));
        }
    }
    claims[name + "own_word"] = at_own / words;
    if (!hide) return;
    claims["own_hidden"] = hidden / words;
    claims["other_hidden"] = other_hidden / words;
}
// [first map]
/// Of the encoder's first attention, before its heads are joined: the mean of a row's largest
/// weight, the share of rows whose largest weight is above 0.95, and the largest mean weight that a
/// head gives to the word before.
void add_first_map(Claims& claims, const Transformer& model, const Corpus& corpus,
                   const std::string& name) {
    double rows = 0, sum = 0, saturated = 0;
    std::vector<double> before(static_cast<std::size_t>(model.options().layer.attention.n_heads));
    for (const SentencePair& pair : corpus.held_out) {
        const Sentence s(corpus, pair);
        Transformer::AttentionWeights all;
        model.encode(s.src, nullptr, &all);
        const Tensor& w = all.encoder.front();  // [1, H, L, L]
        for (Index h = 0; h < w.dim(1); ++h)
            for (Index i = 0; i < w.dim(2); ++i) {
                Real largest = 0;
                for (Index j = 0; j < w.dim(3); ++j) largest = std::max(largest, w(0, h, i, j));
                ++rows;
                sum += largest;
                saturated += largest > Real(0.95);
                if (i > 0) before[static_cast<std::size_t>(h)] += w(0, h, i, i - 1);
            }
    }
    claims[name + "largest_weight"] = sum / rows;
    claims[name + "saturated"] = saturated / rows;
    const double queries = rows / static_cast<double>(before.size());
    claims[name + "previous_word"] =
        *std::ranges::max_element(before) / (queries - static_cast<double>(corpus.held_out.size()));
}

/// Which share of a row's square, before the first layer, is the position's code.
double place_share(const Transformer& model, const Corpus& corpus) {
    double codes = 0, words = 0;
    for (const SentencePair& pair : corpus.held_out) {
        const Sentence s(corpus, pair);
        const Tensor x = model.src_embed.forward(s.src);
        Tensor code = model.src_positions.forward(x);
        Tensor minus = x.clone();
        minus *= -1;
        code += minus;
        words += dot(x, x);
        codes += dot(code, code);
    }
    return codes / (codes + words);
}
// [taken away]
/// What a weight was, so that it can be put back.
class Kept {
public:
    explicit Kept(Parameter& p) : parameter_(p), value_(p.value.clone()) {}
    ~Kept() { parameter_.assign(value_); }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

private:
    Parameter& parameter_;
    Tensor value_;
};

/// Lets this map return nothing, or nothing of these columns of its input, until the end of a
/// block.
class TakenAway {
public:
    TakenAway(Linear& map, Index first, Index columns) : weight_(map.weight), bias_(map.bias) {
        Tensor w = map.weight.value.clone();
        matrix(w).middleCols(first, columns).setZero();
        map.weight.assign(w);
        if (columns == w.dim(1)) map.bias.assign(Tensor::zeros(map.bias.value.shape()));
    }
    explicit TakenAway(Linear& map) : TakenAway(map, 0, map.weight.value.dim(1)) {}

private:
    Kept weight_, bias_;
};

/// Takes away one head of the encoder after the other, then a layer's attention or network, each
/// time keeping the worst case, and then those of all layers.
void add_taken_away(Claims& claims, Transformer& model, const Corpus& corpus) {
    const Index n_heads = model.options().layer.attention.n_heads,
                d_k = model.options().layer.attention.d_model / n_heads;
    const auto least = [&](const std::string& name, const TakenAway&) {
        const double right = exact(model, corpus);
        const auto [claim, fresh] = claims.try_emplace(name, right);
        if (!fresh) claim->second = std::min(claim->second, right);
    };
    std::deque<TakenAway> attention, networks;
    for (EncoderLayer& layer : model.encoder.layers) {
        for (Index h = 0; h < n_heads; ++h)
            least("without_a_head", TakenAway(layer.self_attn.w_o, h * d_k, d_k));
        least("without_network", TakenAway(layer.ff.second));
    }
    for (DecoderLayer& layer : model.decoder.layers)
        least("without_cross_attention", TakenAway(layer.cross_attn.w_o));
    for (EncoderLayer& layer : model.encoder.layers) attention.emplace_back(layer.self_attn.w_o);
    claims["without_all_self_attention"] = exact(model, corpus);
    attention.clear();
    for (EncoderLayer& layer : model.encoder.layers) networks.emplace_back(layer.ff.second);
    claims["without_all_networks"] = exact(model, corpus);
}
// [old]
/// A place of 老 in a sentence.
struct Use {
    const SentencePair* pair;
    Index at;
};

using Memories = std::map<const SentencePair*, Tensor>;  ///< what the encoder returns

/// How often *old* is still the likeliest word, after the right words, if the decoder finds at the
/// place of 老 the row of another sentence's 老, which stands at the same place: a share of all
/// such pairs of sentences.
double old_is_said(const Transformer& model, const Corpus& corpus, const Memories& memories,
                   const std::vector<Use>& uses, const std::vector<Use>& others) {
    const std::int32_t word = corpus.target.id("old");
    double said = 0, all = 0;
    for (const Use& use : uses)
        for (const Use& other : others) {
            if (other.at != use.at || other.pair == use.pair) continue;
            const Sentence s(corpus, *use.pair);
            Tensor memory = memories.at(use.pair).clone();
            const Tensor& given = memories.at(other.pair);
            for (Index c = 0; c < memory.dim(2); ++c) memory(0, use.at, c) = given(0, other.at, c);
            const auto place = std::ranges::find(s.said.values(), word) - s.said.values().begin();
            said += likeliest(model, s, memory, s.src)[static_cast<std::size_t>(place)] == word;
            ++all;
        }
    return said / all;
}

/// 老 is *old* in 老 朋 友 and half of *teacher* in 老 师. Is *old* still said if the decoder reads
/// 老's row of another sentence, where it has the same use or the other one? Sentences of who and
/// whom alone: in those of the first part that are held out, each use has a verb of its own.
void add_old(Claims& claims, const Transformer& model, const Corpus& corpus) {
    std::vector<Use> old, teacher;
    Memories memories;
    for (const SentencePair& pair : corpus.held_out) {
        if (std::ranges::count(pair.source, "这") == 0) continue;
        for (std::size_t i = 0; i + 1 < pair.source.size(); ++i) {
            if (pair.source[i] != "老") continue;
            const bool half = pair.source[i + 1] == "师";
            if (!half && std::ranges::count(pair.target, "old") != 1) continue;
            (half ? teacher : old).push_back({&pair, static_cast<Index>(i)});
            memories.try_emplace(&pair, model.encode(Sentence(corpus, pair).src));
        }
    }
    claims["old_from_old"] = old_is_said(model, corpus, memories, old, old);
    claims["old_from_teacher"] = old_is_said(model, corpus, memories, old, teacher);
}
// [words]
/// Which share of the rows of verbs, nouns and persons was moved most like that of another word of
/// the same kind?
void add_words(Claims& claims, const Transformer& model, const Transformer& start,
               const Corpus& corpus) {
    static const std::vector<std::set<std::string>> kinds{
        {"have", "has", "like", "likes", "know", "knows"},
        {"friend", "friends", "teacher", "teachers", "student", "students", "child", "children"},
        {"he", "she", "I", "you", "they"}};
    Tensor moved = start.tgt_embed.table.value.clone();
    moved *= -1;
    moved += model.tgt_embed.table.value;
    const auto cosine = [&](Index i, Index j) {
        const Tensor a = moved.rows(i, i + 1), b = moved.rows(j, j + 1);
        return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
    };
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        double same = 0;
        for (const std::string& word : kinds[k]) {
            const Index i = corpus.target.id(word);
            Index nearest = i == 3 ? 4 : 3;  // 0 to 2 are symbols
            for (Index j = 3; j < corpus.target.size(); ++j)
                if (j != i && cosine(i, j) > cosine(i, nearest)) nearest = j;
            same += static_cast<double>(
                kinds[k].count(corpus.target.word(static_cast<std::int32_t>(nearest))));
        }
        claims[std::array{"like_verbs", "like_nouns", "like_persons"}[k]] =
            same / static_cast<double>(kinds[k].size());
    }
}
// [lens]
/// How often the last map says the right word if it reads the decoder's rows before its first layer
/// (`lens0`), and after each.
void add_lens(Claims& claims, const Transformer& model, const Corpus& corpus) {
    std::vector<double> right(model.decoder.layers.size() + 1);
    double words = 0;
    for (const SentencePair& pair : corpus.held_out) {
        const Sentence s(corpus, pair);
        const Tensor memory = model.encode(s.src);
        Tensor y = model.tgt_positions.forward(model.tgt_embed.forward(s.read));
        const auto add = [&](std::size_t layer) {
            const auto said = argmax(model.output.forward(y));
            for (Index t = 0; t < s.read.size(); ++t)
                right[layer] += said(0, t).word == s.said(0, t);
        };
        add(0);
        for (std::size_t l = 0; l < model.decoder.layers.size(); ++l) {
            y = model.decoder.layers[l].forward(y, memory, model.target_mask(s.read),
                                                model.source_mask(s.src, s.read));
            add(l + 1);
        }
        words += static_cast<double>(s.read.size());
    }
    for (std::size_t l = 0; l < right.size(); ++l)
        claims[fmt::format("lens{}", l)] = right[l] / words;
}

}  // namespace
// [claims]
Claims claims_of(Transformer& model, const Transformer& start, const Corpus& corpus) {
    Claims claims = exact_by_kind(model, corpus);
    claims["exact"] = exact(model, corpus);
    add_words(claims, model, start, corpus);
    add_looks(claims, start, corpus, "start_", false);
    add_looks(claims, model, corpus, "", true);
    add_first_map(claims, start, corpus, "start_");
    add_first_map(claims, model, corpus, "");
    claims["start_place"] = place_share(start, corpus);
    claims["place"] = place_share(model, corpus);
    add_taken_away(claims, model, corpus);
    add_old(claims, model, corpus);
    add_lens(claims, model, corpus);
    return claims;
}

Claims exact_by_kind(const Transformer& model, const Corpus& corpus) {
    const HeldOutKinds held = grammar_held_out();
    const auto count = [&](const std::vector<SentencePair>& pairs) {
        return static_cast<double>(evaluate(model, corpus, pairs).exact);
    };
    return {{"combination", count(held.combination)},
            {"swapped", count(held.swapped)},
            {"both_ways", count(held.both_ways)}};
}

}  // namespace abh
