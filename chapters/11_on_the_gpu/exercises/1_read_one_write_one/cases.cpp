#include "judge/answer/cases.hpp"

#include <functional>
#include <memory>
#include <utility>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"
#include "chapters/09_training/loss/loss.hpp"
#include "chapters/09_training/optimizer/optimizer.hpp"
#include "lib/cuda/counts.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

constexpr Index single = 4;  // bytes of a number, and of an id

/// The bytes that a kernel's threads ask for in single precision, from the count in double.
/// @param others  how many bytes are the same in both: those of ids, of sums kept in double, and of
/// lists
Index asked(const char* kernel, const std::function<void()>& f, Index others) {
    f();
    cuda::count_kernels(true);
    f();
    Index bytes = -1;
    for (const cuda::KernelCount& c : cuda::kernel_counts())
        if (c.name == kernel) bytes = c.bytes;
    cuda::count_kernels(false);
    if (bytes < 0) throw std::logic_error(std::string(kernel) + " was not launched");
    return (bytes - others) * single / static_cast<Index>(sizeof(Real)) + others;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Index R = 3 * cases.between(4, 20), d = 4 * cases.between(5, 30),
                V = cases.between(20, 90), n = 100 * cases.between(10, 60) + 7;
    const Values drawn = values(R, d, V, n);
    cases.given(drawn, {"R", "d", "V", "n"});
    const auto ask = [&](const char* criterion, const char* line, Index number,
                         const std::vector<std::pair<const char*, Index>>& wrong) {
        Case c{.criterion = criterion,
               .call = line,
               .arguments = drawn,
               .results = values(static_cast<Real>(number)),
               .names = {"R", "d", "V", "n"}};
        for (const auto& [says, instead] : wrong)
            c.mistakes.push_back({says, values(static_cast<Real>(instead))});
        cases.add(c);
    };
    set_way(Way::cuda);
    Random random(1);

    const Embedding words(V, d, {}, random);
    const Ids ids = cases.ids({1, R}, V);
    const Index gather = single * (R + 2 * R * d),
                gather_asked = asked(
                    "gather rows", [&] { words.forward(ids); }, single * 128 * R);
    ask("gather rows", "gather_rows", gather,
        {{"the ids are forgotten", 2 * single * R * d},
         {"the whole table need not be read, only the rows of the ids",
          single * (R + R * d + V * d)},
         {"this is what the threads ask for", gather_asked}});
    ask("gather rows, asked for", "gather_rows_asked", gather_asked,
        {{"each of the block's 128 threads reads the id", gather},
         {"the block has 128 threads, even if a row is shorter or longer",
          single * (R * d + 2 * R * d)}});

    const PositionalEncoding codes(d, {.max_len = R}, random);
    const Tensor sentences = cases.normal({3, R / 3, d});
    const Index positions = single * (2 * R * d + R / 3 * d),
                positions_asked = asked(
                    "positions", [&] { codes.forward(sentences); }, 0);
    ask("positions", "positions", positions,
        {{"the codes are forgotten", 2 * single * R * d},
         {"this is what the threads ask for", positions_asked}});
    ask("positions, asked for", "positions_asked", positions_asked,
        {{"every sentence reads the codes again", positions}});

    const LayerNorm norm(d, {});
    const Tensor x = cases.normal({1, R, d});
    const auto normalize = [&] {
        LayerNorm::Cache cache;
        norm.forward(x, &cache);
    };
    const Index layer_norm = single * (3 * R * d + R + 2 * d),
                layer_norm_asked = asked("layer norm", normalize, 0);
    ask("layer norm", "layer_norm", layer_norm,
        {{"the normalized rows are kept for backward, too", single * (2 * R * d + R + 2 * d)},
         {"each row's 1 / deviation is kept, too", single * (3 * R * d + 2 * d)},
         {"gamma and beta are forgotten", single * (3 * R * d + R)},
         {"x is read once: a warp keeps the row in registers", single * (4 * R * d + R + 2 * d)},
         {"this is what the threads ask for", layer_norm_asked}});
    ask("layer norm, asked for", "layer_norm_asked", layer_norm_asked,
        {{"every row reads gamma and beta again", layer_norm}});

    const Tensor logits = cases.normal({1, R, V});
    const auto lose = [&] {
        CrossEntropyCache cache;
        cross_entropy(logits, ids, {.ignore = -1}, &cache);
    };
    const Index loss = single * (2 * R * V + R) + 8 * R,
                loss_asked = asked("cross entropy", lose, (single + 8) * R);
    ask("cross entropy", "cross_entropy", loss,
        {{"the losses are kept in double precision, 8 bytes each", single * (2 * R * V + 2 * R)},
         {"the probabilities are written for backward", single * (R * V + R) + 8 * R},
         {"the targets and the losses are forgotten", single * 2 * R * V},
         {"this is what the threads ask for", loss_asked}});
    ask("cross entropy, asked for", "cross_entropy_asked", loss_asked,
        {{"the row is read a second time for the probabilities, and the target's logit once more",
          loss},
         {"one thread reads the target's logit once more", single * (3 * R * V + R) + 8 * R}});

    Parameter w(cases.normal({n}));
    w.grad().fill(1);
    Tensor m = Tensor::zeros({n}), v = Tensor::zeros({n});
    // one thread of each block reads the list's entry: four addresses, two numbers and a flag
    const Index list = 56 * ceil_div(n, 4096);
    const auto step = [&] { adam_step(w, m, v, {{}, Real(0.1), 1}); };
    const Index adam = asked("adam", step, list) - list;
    ask("adam", "adam", adam,
        {{"w, m and v are read and written", 4 * single * n},
         {"the gradient is read, and not written", 8 * single * n}});

    const auto require_equal = [](Index a, Index b, const char* what) {
        if (a != b)
            throw std::logic_error(std::string(what) + ": the formula disagrees with the count");
    };
    require_equal(gather_asked, single * (128 * R + 2 * R * d), "gather rows");
    require_equal(positions_asked, single * 3 * R * d, "positions");
    require_equal(layer_norm_asked, single * (5 * R * d + R), "layer norm");
    require_equal(loss_asked, single * (3 * R * V + R + R) + 8 * R, "cross entropy");
    require_equal(adam, 7 * single * n, "adam");
}
