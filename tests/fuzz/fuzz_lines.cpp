#include <zlib.h>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

namespace {

/// These bytes as a gzip stream.
std::string compressed(const std::uint8_t* data, std::size_t size) {
    z_stream stream{};
    if (::deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        std::abort();
    std::string result(::deflateBound(&stream, size), '\0');
    stream.next_in = const_cast<Bytef*>(data);
    stream.avail_in = static_cast<uInt>(size);
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
    result.resize(stream.total_out);
    ::deflateEnd(&stream);
    return result;
}

}  // namespace

/// A file of pairs, plain or gzip; what stands behind a z is compressed here, since chance finds no
/// checksum. The limits are small, so that a small file reaches them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const bool compress = size > 0 && data[0] == 'z';
    const std::string packed = compress ? compressed(data + 1, size - 1) : std::string();
    const fuzz::MemoryFile file(compress
                                    ? std::string_view(packed)
                                    : std::string_view(reinterpret_cast<const char*>(data), size));
    const TextLimits limits{.line_bytes = 1 << 12, .file_bytes = 1 << 18, .lines = 1 << 10};
    fuzz::accepted([&] {
        CleanCounts counts;
        const auto pairs = read_pairs({.source = file.path()}, {}, &counts, limits);
        fuzz::expect(static_cast<Index>(pairs.size()) == counts.kept, "pairs are miscounted");
        for (const TextPair& pair : pairs)
            for (const std::string& text : {pair.source, pair.target})
                fuzz::expect(is_utf8(text) && nfc(text) == text && printable(text) == text,
                             "a sentence is not clean text");
    });
    return 0;
}
