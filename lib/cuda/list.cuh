#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [list]
/// Some tensors of one size, for instance a weight and its gradient, as one entry of a list.
/// @tparam T  has their addresses
template <class T>
struct Listed {
    T tensors;
    Index size;
    bool fours;   ///< whether threads may take four neighbors at once
    Index first;  ///< how many chunks the entries before have

    bool operator==(const Listed&) const = default;
};

constexpr Index chunk_size = 16 * block_size;  // elements, of one entry

/// What one launch works on.
template <class T>
class List {
public:
    /// @param tensors  what a `T` is made of
    template <class... A>
    void add(Index size, const A&... tensors) {
        entries_.push_back({T{tensors...}, size, (starts_a_four(tensors) && ...), chunks_});
        chunks_ += ceil_div(size, chunk_size);
    }
    Index length() const { return static_cast<Index>(entries_.size()); }
    Index chunks() const { return chunks_; }
    /// The entries in the device's memory. They are sent only if they are not those of the last
    /// call for a list of this type: from step to step, tensors stay where they are.
    const Listed<T>* on_device() const {
        static thread_local std::vector<Listed<T>> sent;
        static thread_local BasicTensor<Listed<T>> there;
        if (sent != entries_) {
            there = BasicTensor<Listed<T>>({length()});
            std::ranges::copy(entries_, there.values().begin());
            sent = entries_;
        }
        return std::as_const(there).on_device();
    }

private:
    std::vector<Listed<T>> entries_;
    Index chunks_ = 0;
};
// [list: kernel]
/// Elements `begin` to `end - 1` of one entry.
template <class T>
struct Chunk {
    T tensors;
    Index begin, end;
    bool fours;
};

/// Finds a chunk among those of all entries, by bisection. One thread does so for its block.
template <class T>
__device__ Chunk<T> chunk_of(Global<const Listed<T>> list, Index length, Index chunk) {
    __shared__ Shared<Chunk<T>, 1> of_block;
    __syncthreads();  // the last chunk may still be read
    if (threadIdx.x == 0) {
        Index found = 0;  // begins at the chunk or before, and `after` after it
        for (Index after = length; after - found > 1;) {
            const Index middle = (found + after) / 2;
            const Listed<T> entry = list[middle];
            (entry.first <= chunk ? found : after) = middle;
        }
        const Listed<T> entry = list[found];
        const Index begin = (chunk - entry.first) * chunk_size, end = begin + chunk_size;
        of_block[0] =
            Chunk<T>{entry.tensors, begin, end < entry.size ? end : entry.size, entry.fours};
    }
    __syncthreads();
    return of_block[0];
}

/// The tensor at an address that a list holds. CUDA's compiler does not know which memory such an
/// address is in, and would use slower instructions, which work for any.
template <class T>
__device__ Global<T> in_device_memory(T* address) {
#ifdef __CUDACC__
    __builtin_assume(__isGlobal(address));
#endif
    return address;
}

/// Calls `f<width>(i)`, as for the elements of one tensor: `chunk.begin` is a multiple of four.
template <class T, class F>
__device__ void for_elements(const Chunk<T>& chunk, const F& f) {
    const int n = static_cast<int>(chunk.end - chunk.begin), fours = chunk.fours ? n / 4 : 0;
#ifdef __CUDACC__
#pragma unroll 1  // several turns in one would take registers, and so warps
#endif
    for (int i = static_cast<int>(threadIdx.x); i < fours; i += block_size)
        f.template operator()<4>(chunk.begin / 4 + i);
    for (int i = 4 * fours + static_cast<int>(threadIdx.x); i < n; i += block_size)
        f.template operator()<1>(chunk.begin + i);
}
// [list: launch]
/// Starts `kernel` with one block for each chunk.
template <class T, class... P, class... A>
void launch_list(const char* name, void (*kernel)(Global<const Listed<T>>, Index, P...),
                 const List<T>& list, A&&... arguments) {
    if (list.chunks() > 0)
        launch(name, kernel, blocks_of(list.chunks()), list.on_device(), list.length(),
               std::forward<A>(arguments)...);
}

}  // namespace abh::cuda
