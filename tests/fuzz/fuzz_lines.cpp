#include <zlib.h>

#include "chapters/13_real_translation/data/parallel_text.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace abh;

/// A file of pairs, plain or gzip; what stands behind a z is compressed here, since chance finds no
/// checksum. The limits are small, so that a small file reaches them.
void fuzz::meet(std::string_view bytes) {
    const auto file = fuzz::folder.put("file", bytes);
    if (bytes.starts_with('z')) {
        const gzFile packed = ::gzopen(file.c_str(), "wb1");
        ::gzwrite(packed, bytes.data() + 1, static_cast<unsigned>(bytes.size()) - 1);
        ::gzclose(packed);
    }
    const TextLimits limits{.line_bytes = 1 << 12, .file_bytes = 1 << 18, .lines = 1 << 10};
    fuzz::accepted([&] {
        CleanCounts counts;
        const auto pairs = read_pairs({.source = file}, {}, &counts, limits);
        fuzz::expect(static_cast<Index>(pairs.size()) == counts.kept, "pairs are miscounted");
        for (const TextPair& pair : pairs)
            for (const std::string& text : {pair.source, pair.target})
                fuzz::expect(is_utf8(text) && nfc(text) == text && printable(text) == text,
                             "a sentence is not clean text");
    });
}
