// Once: what is asked of the system once training and decoding are warm: nothing.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/05_multi_head_attention/heads.hpp"
#include "chapters/09_training/loss/vocabulary_loss.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/storage.hpp"
#include "tests/support.hpp"
#include "tests/transformers.hpp"

// With ABH_TEST_REUSES_MEMORY set, as ctest does, the allocator is that of the chapters' programs.
// Here every `new` of the program is counted, and the largest noted; memory for tensors is asked
// for in large pages. What Eigen and oneDNN take for themselves with malloc is not counted.
namespace {

std::atomic<long> news, pieces, largest_asked;

void* obtain(std::size_t bytes, std::size_t alignment) {
    ++news;
    pieces += alignment == 1 << 21;
    const long size = static_cast<long>(bytes);
    for (long seen = largest_asked; seen < size;)
        if (largest_asked.compare_exchange_weak(seen, size)) break;
    bytes = std::max<std::size_t>(bytes, 1);
    void* const block =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    return block ? block : throw std::bad_alloc();
}

/// GCC does not look inside: it would warn of `free` for what `new` gave.
[[gnu::noinline]] void release(void* block) noexcept {
    std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return obtain(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes) {
    return obtain(bytes, alignof(std::max_align_t));
}
void operator delete(void* block) noexcept {
    release(block);
}
void operator delete(void* block, std::size_t) noexcept {
    release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
    release(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    release(block);
}

using namespace abh;

namespace {

/// What was asked of the system since the last call.
struct Asked {
    long buffers;  ///< pieces of memory for tensors
    long news;     ///< pieces of memory, for whatever
    long largest;  ///< bytes of the largest
};

Asked asked() {
    return {pieces.exchange(0), news.exchange(0), largest_asked.exchange(0)};
}

constexpr long small = 4096;  // bytes: lists of words and of results

/// For every step of a training, on one thread: with more, how many blocks are in use at a time
/// depends on when the threads come by.
std::vector<Asked> asked_by_steps(const Task& task) {
    Transformer model(task.model, Random(1));
    std::vector<Asked> steps;
    steps.reserve(static_cast<std::size_t>(count_steps(task.corpus, task.training)));
    asked();
    train(model, task.corpus, task.training, [&](const StepReport&) { steps.push_back(asked()); });
    return steps;
}

}  // namespace

TEST_CASE("a warm training step asks the system for no memory") {
    for (const char* optimizer : {"sgd", "adam"})
        for (NormPlacement placement : {NormPlacement::post, NormPlacement::pre}) {
            Task task = small_task();
            task.training.optimizer = optimizer;
            task.training.epochs = 20;
            task.training.batch_size = static_cast<Index>(task.corpus.train.size());
            task.model = paper_like(placement);
            task.model.src_words = task.corpus.source.size();
            task.model.tgt_words = task.corpus.target.size();
            task.model.positions.dropout = Real(0.1);
            const std::vector<Asked> steps = asked_by_steps(task);
            CHECK(steps.front().news > 0);  // they are counted
            for (std::size_t i = 3; i < steps.size();
                 ++i) {  // in the first, buffers and lists grow
                CAPTURE(optimizer, i);
                CHECK(steps[i].buffers == 0);
                CHECK(steps[i].news == 0);
            }
        }
}

TEST_CASE("batches of many sizes share memory") {
    Task task = small_task();
    task.corpus.train.clear();
    Random random(4);
    const Ids lengths = random_ids({200, 2}, 1, 16, random.stream());
    for (Index i = 0; i < lengths.dim(0); ++i)
        task.corpus.train.push_back(
            {std::vector<std::string>(static_cast<std::size_t>(lengths(i, 0)), "我"),
             std::vector<std::string>(static_cast<std::size_t>(lengths(i, 1)), "I")});
    task.training.batch_size = 4;
    task.training.epochs = 4;
    const std::vector<Asked> steps = asked_by_steps(task);
    const auto fresh = [&](std::size_t from, std::size_t to) {
        long count = 0;
        for (std::size_t i = from; i < to; ++i) count += steps[i].buffers;
        return count;
    };
    // With lists of blocks by size, nearly every batch would need some of its own.
    CHECK(fresh(0, steps.size() / 2) <= 2);
    CHECK(fresh(steps.size() / 2, steps.size()) == 0);
}

TEST_CASE("neighbors that were let go in any order are one block again") {
    const auto tensor = [](Index mib) {
        return Tensor({mib, (Index{1} << 20) / static_cast<Index>(sizeof(Real))});
    };
    for (const bool in_order : {true, false}) {
        tensor(160);  // more than anything else that waits, so both halves lie in it
        Tensor first = tensor(80), second = tensor(80);
        asked();
        (in_order ? first : second) = Tensor();
        (in_order ? second : first) = Tensor();
        tensor(160);
        CHECK(asked().buffers == 0);
    }
}

TEST_CASE("large tensors do not overlap, and keep their numbers while others come and go") {
    Random random(4);
    const Ids choices = random_ids({3000, 2}, 0, 1000, random.stream());
    std::vector<Tensor> tensors(40);
    bool kept = true;
    for (Index i = 0; i < choices.dim(0); ++i) {
        const auto at = static_cast<std::size_t>(choices(i, 0) % 40);
        for (const Real x : tensors[at].values()) kept = kept && x == tensors[at](0);
        tensors[at] = Tensor();
        tensors[at] = Tensor::full({16000 + 64 * choices(i, 1)}, static_cast<Real>(i));
    }
    CHECK(kept);
}

TEST_CASE("a warm translation asks the system for no buffer") {
    const Task task = small_task();
    const Transformer model(task.model, Random(1));
    const Ids src({2, 4}, {1, 2, 3, 4, 2, 1, 0, 0});
    const DecodingOptions options{1, -1, 15};
    const auto translate = [&] {
        asked();
        const auto cached = greedy_decode_cached(model, src, options);
        const auto whole = greedy_decode(model, Ids({1, 4}, {1, 2, 3, 4}), options);
        CHECK(cached[0].ids.size() == 15);
        CHECK(whole.ids.size() == 15);
        return asked();
    };
    asked();
    const Tensor large({3 << 24});  // larger than what waits
    CHECK(asked().buffers == 1);    // they are counted
    translate();
    const Asked warm = translate();
    CHECK(warm.buffers == 0);
    CHECK(warm.largest <= small);
}

TEST_CASE("blockwise attention needs memory that grows with the length, not with its square") {
    const Index length = 1027;
    const Tensor x = random_tensor({1, length, 32}), dy = random_tensor(x.shape(), 10);
    const Mask mask = Mask::zeros({1, 1, 1, length});
    const long square = length * length * static_cast<long>(sizeof(Real));
    memory::check();  // from here on, each tensor is a piece of its own
    asked();
    AttendHeadsCache cache;
    attend_heads(x, x, x, 2, mask, {}, &cache);
    attend_heads_backward(dy, cache);
    // the inputs' own size is the largest, 32 numbers a word; a checked piece may have one byte
    // more
    const long size = x.size() * static_cast<long>(sizeof(Real));
    CHECK(asked().largest == size + 1);
    const Tensor heads = split_heads(x, 2);
    attention(heads, heads, heads, mask);
    CHECK(asked().largest >= 2 * square);
}

TEST_CASE("logits of all rows never stand in memory at once") {
    const Index rows = 600, words = 30000, d_model = 4;
    Random random(5);
    Linear output(d_model, words, false, random);
    const Tensor x = random_tensor({1, rows, d_model});
    const Ids targets = random_ids({1, rows}, 1, words, random.stream());
    memory::check();
    asked();
    VocabularyLossCache cache;
    vocabulary_loss(x, output, targets, {}, &cache);
    vocabulary_loss_backward(output, cache);
    const long block = most_logits * static_cast<long>(sizeof(Real));
    CHECK(asked().largest <= block + 1);
    Tensor logits = output.forward(x);
    CHECK(asked().largest >= rows * words * static_cast<long>(sizeof(Real)));
}
