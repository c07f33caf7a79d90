// Hunt {id}, drawn for {student}: {source}.
//
// A copy of this source differs from the book's in one place, and this is what its users notice:
//
{symptom}
//
// Complete the next two lines. The first is the book's line that is different or missing in the
// copy: a part of it that occurs only once, as the source has it. The second says in a sentence
// what the copy does instead, and why that leads to what its users notice.
//
// LINE:
// CAUSE:
#include <cmath>
#include <stdexcept>

{headers}

namespace abh::mine {

/// Whether two tensors have the same shape and, but for round-off, the same elements.
bool near(const Tensor& a, const Tensor& b, Real tolerance = 1e-6) {
    if (a.shape() != b.shape()) return false;
    for (Index i = 0; i < a.size(); ++i)
        if (!(std::abs(a.data()[i] - b.data()[i]) <= tolerance)) return false;  // NaN is not near
    return true;
}

/// Your test.
/// @return  true if the operation does what its header promises, false if it does not
bool passes() {
    throw std::logic_error("not written yet");
}

}  // namespace abh::mine
