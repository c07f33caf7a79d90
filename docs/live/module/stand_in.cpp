// What stands in for the parts of lib that serve threads, devices and files: one thread, one
// memory, the way plain.
#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <stdexcept>

#include "calls.hpp"
#include "chapters/09_training/data/corpus.hpp"
#include "chapters/09_training/optimizer/optimizer.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/io/files.hpp"
#include "lib/storage.hpp"
#include "lib/way.hpp"

namespace abh {
// [way]
void set_way(Way way) {
    if (way != Way::plain) throw std::runtime_error("in a page, only the way plain is there");
    detail::current_way = way;
}
namespace {

const bool plain = (set_way(Way::plain), true);

}  // namespace
// [parallel]
int threads() {
    return 1;
}

void run_parallel(Index n, const std::function<void(Index)>& f) {
    for (Index i = 0; i < n; ++i) f(i);
}
// [storage]
namespace {

constexpr std::align_val_t alignment{64};

}  // namespace

Storage::Storage(std::size_t bytes) : at_(on_host), never_on_device_(true), bytes_(bytes) {
    host_ = {::operator new(std::max<std::size_t>(bytes, 1), alignment), bytes};
}

Storage::~Storage() {
    ::operator delete(host_.data, alignment);
}

void* Storage::fetch_to_host(bool) {
    return host_.data;
}

void* Storage::device(bool) {
    throw std::logic_error("in a page, there is no device");
}

void Storage::copy(Storage& other, std::size_t first) {
    std::memcpy(host_.data, static_cast<const std::byte*>(other.host_.data) + first, bytes_);
}

void Storage::forget() {}  // nothing is ever kept, because no product is rounded here

std::shared_ptr<Storage> make_storage(std::size_t bytes) {
    return std::make_shared<Storage>(bytes);
}
// [optimizers]
namespace cuda {

void sgd_steps(const Parameters&, std::span<Tensor>, Real, Real) {}
void adam_steps(const Parameters&, std::span<Tensor>, std::span<Tensor>, const AdamStep&) {}

}  // namespace cuda
// [files]
namespace {

std::string handed;  // the file that the page has handed over

}  // namespace

std::string read_file(const std::filesystem::path&, std::size_t) {
    return std::exchange(handed, {});
}

Corpus read_corpus(const std::filesystem::path&, Index) {
    throw std::logic_error("a page reads no files of pairs");
}

AtomicFile::AtomicFile(std::filesystem::path) {
    throw std::runtime_error("a page writes no files");
}
AtomicFile::~AtomicFile() = default;
void AtomicFile::write(const void*, std::size_t) {}
void AtomicFile::flush() {}
void AtomicFile::commit() {}

}  // namespace abh

/// Where the page puts the file that is read next; null if there is no room for it.
extern "C" EMSCRIPTEN_KEEPALIVE char* live_file(std::size_t bytes) {
    return live::guarded([&] { abh::handed.resize(bytes); }) ? abh::handed.data() : nullptr;
}
