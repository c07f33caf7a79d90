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

/// How the matrices of a product lie in memory.
struct Operands {
    Description a, b, c;
};

/// What oneDNN is to generate for a product of these operands. If it is to `add`, `c` is a summand.
dnnl::matmul::primitive_desc program_for(const Operands& o, bool add) {
    dnnl::primitive_attr attributes;
    if (add) {
        dnnl::post_ops sum;
        sum.append_sum();
        attributes.set_post_ops(sum);
    }
#if DNNL_VERSION_MAJOR >= 3
    return {engine(), o.a, o.b, o.c, attributes};
#else
    return {{o.a, o.b, o.c}, attributes, engine()};
#endif
}

void run(const dnnl::matmul& program, const Operands& o, const void* a, const void* b, void* c) {
    thread_local dnnl::stream stream(engine());
    const auto at = [](const Description& what, const void* data) {
        return dnnl::memory(what, engine(), const_cast<void*>(data));
    };
    program.execute(
        stream,
        {{DNNL_ARG_SRC, at(o.a, a)}, {DNNL_ARG_WEIGHTS, at(o.b, b)}, {DNNL_ARG_DST, at(o.c, c)}});
    stream.wait();
}

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
namespace {

Operands operands_of(const Product& p) {
    const auto matrix = [](Index m, Index n, Type type, Index row, Index column) {
        return Description({m, n}, type, dnnl::memory::dims{row, column});
    };
    return {matrix(p.m, p.k, Type::bf16, p.a.row, p.a.column),
            matrix(p.k, p.n, Type::bf16, p.b.row, p.b.column),
            matrix(p.m, p.n, Type::f32, p.width_c, 1)};
}

/// The same product of matrices of any size, so that sentences of any length share a program.
Product of_any_size(const Product& p) {
    const Index any = DNNL_RUNTIME_DIM_VAL;  // the operands of each run say how many
    const Strided a = Strided::of(nullptr, any, p.a.by_columns()),
                  b = Strided::of(nullptr, any, p.b.by_columns());
    return {nullptr, any, a, b, any, any, any, p.scale, p.add};
}

}  // namespace

void multiply(const Product& p, const Half* a, const Half* b) {
    thread_local std::map<std::array<bool, 3>, dnnl::matmul> programs;
    alone("product in bf16", [&] {
        dnnl::matmul& program = programs[{p.a.by_columns(), p.b.by_columns(), p.add}];
        if (!program) program = dnnl::matmul(program_for(operands_of(of_any_size(p)), p.add));
        run(program, operands_of(p), a, b, p.c);
    });
}
// [int8]
struct Packed::Parts {
    Index n, k;
    Description description;
    dnnl::memory data;

    /// Of a product with m rows.
    Operands operands(Index m) const {
        return {Description({m, k}, Type::u8, dnnl::memory::dims{k, 1}), description,
                Description({m, n}, Type::s32, dnnl::memory::dims{n, 1})};
    }
};

Packed::Packed(const std::int8_t* rows, Index n, Index k) : parts_(new Parts{n, k, {}, {}}) {
    alone("weights in 8 bits", [&] {
        const Index typical = 32;  // rows; the order depends on them little or not at all
        parts_->description = Description({k, n}, Type::s8, dnnl::memory::format_tag::any);
        parts_->description = program_for(parts_->operands(typical), false).weights_desc();
        parts_->data = dnnl::memory(parts_->description, engine());
        dnnl::memory from(Description({k, n}, Type::s8, dnnl::memory::dims{1, k}), engine(),
                          const_cast<std::int8_t*>(rows));
        dnnl::stream stream(engine());
        dnnl::reorder(from, parts_->data).execute(stream, from, parts_->data);
        stream.wait();
    });
}

Packed::~Packed() = default;

Index Packed::rows_for(Index m) {
    return m <= 64 ? ceil_div(m, 8) * 8 : ceil_div(m, 64) * 64;
}

void Packed::multiply(const std::uint8_t* x, Index m, std::int32_t* sums) const {
    thread_local std::map<std::array<Index, 3>, dnnl::matmul> programs;
    alone("product in 8 bits", [&] {
        const Operands o = parts_->operands(rows_for(m));
        dnnl::matmul& program = programs[{rows_for(m), parts_->n, parts_->k}];
        if (!program) program = dnnl::matmul(program_for(o, false));
        run(program, o, x, parts_->data.get_data_handle(), sums);
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
Index Packed::rows_for(Index m) {
    return m;
}
void Packed::multiply(const std::uint8_t*, Index, std::int32_t*) const {
    missing();
}

}  // namespace abh::onednn
#endif
