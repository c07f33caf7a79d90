#include "lib/fast/onednn.hpp"

#include <stdexcept>

#include "lib/precision.hpp"

#if defined(ABH_ONEDNN) && !defined(ABH_DOUBLE)
#include <omp.h>

#include <array>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>

namespace abh::onednn {
// [program]
namespace {

using Description = dnnl::memory::desc;
using Type = dnnl::memory::data_type;

const dnnl::engine& engine() {
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

/// A program that oneDNN generates, for a product of these operands.
struct Generated {
    Description a, b, c;
    dnnl::matmul program;

    Generated(const Description& of_a, const Description& of_b, const Description& of_c, bool add)
        : a(of_a), c(of_c) {
        dnnl::primitive_attr attributes;
        if (add) {
            dnnl::post_ops sum;
            sum.append_sum();
            attributes.set_post_ops(sum);
        }
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::matmul::primitive_desc described(engine(), of_a, of_b, of_c, attributes);
#else
        const dnnl::matmul::primitive_desc described({of_a, of_b, of_c}, attributes, engine());
#endif
        b = described.weights_desc();
        program = dnnl::matmul(described);
    }

    void run(const void* a_data, const void* b_data, void* c_data) const {
        thread_local dnnl::stream stream(engine());
        const auto at = [](const Description& what, const void* data) {
            return dnnl::memory(what, engine(), const_cast<void*>(data));
        };
        program.execute(stream, {{DNNL_ARG_SRC, at(a, a_data)},
                                 {DNNL_ARG_WEIGHTS, at(b, b_data)},
                                 {DNNL_ARG_DST, at(c, c_data)}});
        stream.wait();
    }
};

/// Calls `f`, on this thread alone, because all threads call this.
template <class F>
void alone(const char* what, const F& f) {
    omp_set_num_threads(1);
    try {
        f();
    } catch (const dnnl::error& error) {
        throw std::runtime_error(fmt::format("{}: oneDNN failed: {}", what, error.what()));
    }
}

/// The program in `all` for this key, which `make` makes if there is none.
template <class Key, class F>
const Generated& found_or_made(std::map<Key, Generated>& all, const Key& key, const F& make) {
    const auto found = all.find(key);
    return found == all.end() ? all.emplace(key, make()).first->second : found->second;
}

bool has(dnnl_cpu_isa_t wanted) {
    static const dnnl_cpu_isa_t here = dnnl_get_effective_cpu_isa();
    return (here & wanted) == wanted;
}

}  // namespace
// [instructions]
bool has_int8() {
    return has(dnnl_cpu_isa_avx512_core_vnni);
}
// [bf16]
void multiply(const Product& p, const Half* a, const Half* b) {
    thread_local std::map<std::array<Index, 9>, Generated> programs;
    const auto make = [&] {
        const auto matrix = [](Index m, Index n, Type type, Index row, Index column) {
            return Description({m, n}, type, dnnl::memory::dims{row, column});
        };
        return Generated(matrix(p.m, p.k, Type::bf16, p.a.row, p.a.column),
                         matrix(p.k, p.n, Type::bf16, p.b.row, p.b.column),
                         matrix(p.m, p.n, Type::f32, p.width_c, 1), p.add);
    };
    const std::array key{p.m,     p.n,        p.k,       p.a.row,     p.a.column,
                         p.b.row, p.b.column, p.width_c, Index{p.add}};
    alone("product in bf16", [&] { found_or_made(programs, key, make).run(a, b, p.c); });
}
// [int8]
struct Packed::Parts {
    Index n, k;
    Description description;
    dnnl::memory data;

    /// For a product with m rows.
    Generated generated(Index m) const {
        return {Description({m, k}, Type::u8, dnnl::memory::dims{k, 1}), description,
                Description({m, n}, Type::s32, dnnl::memory::dims{n, 1}), false};
    }
};

Packed::Packed(const std::int8_t* rows, Index n, Index k) : parts_(new Parts{n, k, {}, {}}) {
    alone("weights in 8 bits", [&] {
        const Index typical = 32;  // rows; the order depends on them little or not at all
        parts_->description = Description({k, n}, Type::s8, dnnl::memory::format_tag::any);
        parts_->description = parts_->generated(typical).b;
        parts_->data = dnnl::memory(parts_->description, engine());
        dnnl::memory from(Description({k, n}, Type::s8, dnnl::memory::dims{1, k}), engine(),
                          const_cast<std::int8_t*>(rows));
        dnnl::stream stream(engine());
        dnnl::reorder(from, parts_->data).execute(stream, from, parts_->data);
        stream.wait();
    });
}

Packed::~Packed() = default;
Packed::Packed(Packed&&) noexcept = default;

void Packed::multiply(const std::uint8_t* x, Index m, std::int32_t* sums) const {
    thread_local std::map<std::array<Index, 3>, Generated> programs;
    const auto make = [&] { return parts_->generated(m); };
    alone("product in 8 bits", [&] {
        found_or_made(programs, {m, parts_->n, parts_->k}, make)
            .run(x, parts_->data.get_data_handle(), sums);
    });
}

}  // namespace abh::onednn

bool abh::has_bf16() {
    return onednn::has(dnnl_cpu_isa_avx512_core_bf16);
}
#else
bool abh::has_bf16() {
    return false;
}

namespace abh::onednn {
// [without]
namespace {

[[noreturn]] void missing() {
    throw std::logic_error("this program is built without oneDNN");
}

}  // namespace

bool has_int8() {
    return false;
}
void multiply(const Product&, const Half*, const Half*) {
    missing();
}
struct Packed::Parts {};
Packed::Packed(const std::int8_t*, Index, Index) {
    missing();
}
Packed::~Packed() = default;
Packed::Packed(Packed&&) noexcept = default;
void Packed::multiply(const std::uint8_t*, Index, std::int32_t*) const {
    missing();
}

}  // namespace abh::onednn
#endif
