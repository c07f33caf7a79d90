// Hunt {id}, drawn for {student}: {source}
//
// A copy of this source differs from the book's in one place, and this is what its users notice:
//
{symptom}
//
// The book's source: {here}
// What it promises:  {headers_here}
//
// Complete the next two lines. The first quotes the book's line that is different or missing in the
// copy, or a part of that line which occurs only once. The second says in a sentence what the copy
// does instead, as exactly as your tests can tell, and why that leads to what its users notice; it
// may take several comment lines.
//
// LINE:
// CAUSE:
#include <cmath>
#include <stdexcept>

{headers}

namespace abh::mine {

/// Whether two tensors, masks or ids have the same shape and, but for round-off, the same elements.
template <class T>
bool near(const BasicTensor<T>& a, const BasicTensor<T>& b, double tolerance = 1e-6) {
    if (a.shape() != b.shape()) return false;
    for (Index i = 0; i < a.size(); ++i) {
        const double difference = static_cast<double>(a.data()[i]) - static_cast<double>(b.data()[i]);
        if (!(std::abs(difference) <= tolerance)) return false;  // NaN is not near
    }
    return true;
}

// Random numbers: Random random(1); const Tensor x = normal({2, 3, 4}, random.stream());
// A gradient:     check_gradient([&] { return f(x); }, x, dx, dy).relative < 1e-6, where dx is what
//                 backward returns for dy; for a parameter p, x is p.value and dx is p.grad().

/// Your test. Operations run in the plain way, and {check} shows what it prints.
/// @return  true if the operation does what its header promises, false if it does not
bool passes() {
    throw std::logic_error("not written yet");
}

}  // namespace abh::mine
