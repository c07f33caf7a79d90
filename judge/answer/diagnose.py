"""Says why a result is wrong, from the numbers alone."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence

from .cases import Case
from .values import Value

CLOSE = 1e-6  # relative: how closely a cause must explain the numbers


def size(elements: list[float]) -> float:
    """The largest magnitude; 0 if there is none."""
    return max(map(abs, elements), default=0.0)


def same(a: list[float], b: list[float], tolerance: float = CLOSE) -> bool:
    """Whether the numbers agree, relative to the largest of them; infinite ones and NaN agree with nothing."""
    bound = tolerance * max(size(a), size(b), 1e-300)
    if not math.isfinite(bound):
        return False
    return len(a) == len(b) and all(abs(x - y) <= bound for x, y in zip(a, b, strict=True))


def causes(case: Case, number: int, got: Value) -> Iterator[str]:
    """The mistakes that the exercise knows and that give exactly these numbers, the likeliest first."""
    expected = case.results[number]
    for mistake in case.mistakes:
        wrong = mistake.results[number]
        if equal(wrong, got) and not equal(wrong, expected):
            yield mistake.says


def equal(a: Value, b: Value) -> bool:
    """Whether shapes and numbers agree."""
    return a.shape == b.shape and same(floats(a), floats(b))


def contradicted(cause: str, case: Case, got: Sequence[Value]) -> bool:
    """Whether the numbers of another case speak against a cause: it would show there, and does not."""
    shows = [
        equal(wrong, result)
        for mistake in case.mistakes
        if mistake.says == cause
        for wrong, right, result in zip(mistake.results, case.results, got, strict=True)
        if not equal(wrong, right) and all(map(math.isfinite, floats(wrong) + floats(result)))  # NaN says nothing
    ]
    return bool(shows) and not any(shows)


def pattern(case: Case, number: int, got: Value) -> str:
    """What can be seen of the numbers themselves, where no mistake is known; empty if nothing."""
    expected = case.results[number]
    guesses: list[Callable[[Case, Value, Value], str]]
    if got.shape != expected.shape:
        guesses = [not_finite, summed, permuted]
    else:
        guesses = [zero, not_finite, precision, given_back, factor, permuted, reversed_axis, added_to, part]
    return next(filter(None, (guess(case, expected, got) for guess in guesses)), "")


def thrown(text: str) -> str:
    """What an exception of the book's own says beside its words; empty if nothing."""
    if re.search(r"no element \(.*\) in \[0\]", text):
        return "a tensor of shape [0] has no elements; is it a bias that is not there? `has_bias()` tells"
    return ""


def floats(value: Value) -> list[float]:
    """Its elements."""
    return list(value.elements or ())


def zero(case: Case, expected: Value, got: Value) -> str:
    """Nothing was computed."""
    if got.shape and size(floats(got)) == 0 < size(floats(expected)):
        if got.kind == "M":
            return "nothing is hidden here"
        return "every number is 0: does the function write to the result?"
    return ""


def not_finite(case: Case, expected: Value, got: Value) -> str:
    """NaN and infinity."""
    bad = [i for i, x in enumerate(floats(got)) if not math.isfinite(x)]
    if not bad:
        return ""
    many = "every number" if len(bad) == len(got.elements) else f"{len(bad)} of {len(got.elements)} numbers"
    return (
        f"{many} {'is' if len(bad) == 1 or many.startswith('every') else 'are'} NaN or infinite: a division by 0, "
        "an exponential of a large number, or an element that was never written"
    )


def given_back(case: Case, expected: Value, got: Value) -> str:
    """An argument came back."""
    for i, argument in enumerate(case.arguments):
        if argument.kind == "T" and argument.shape == got.shape and same(floats(argument), floats(got)):
            name = case.names[i] if i < len(case.names) else f"argument {i + 1}"
            return f"this is {name} unchanged"
    return ""


def ratio(expected: list[float], got: list[float]) -> float:
    """The factor between two lists; 0 if there is none."""
    at = max(range(len(expected)), key=lambda i: abs(expected[i]), default=-1)
    if at < 0 or expected[at] == 0 or not math.isfinite(got[at]) or got[at] == 0:
        return 0.0
    c = got[at] / expected[at]
    return c if same(got, [c * x for x in expected]) else 0.0


def constants(case: Case, expected: Value) -> dict[str, float]:
    """Factors by name: the case's own constants, and the sizes of arguments and results."""
    found = dict(case.constants)
    around = [*zip(case.names, case.arguments, strict=False), (case.names[-1] if case.names else "the result", expected)]
    for name, value in around:
        for axis, n in enumerate(value.shape):
            if n > 2:
                found.setdefault(f"size {n} of {name}'s axis {axis}", n)
                if axis == len(value.shape) - 1:
                    found.setdefault(f"the square root of size {n} of {name}'s last axis", math.sqrt(n))
    return found


def factor(case: Case, expected: Value, got: Value) -> str:
    """All numbers are off by one factor."""
    c = ratio(floats(expected), floats(got))
    if c == 0 or abs(c - 1) < CLOSE:
        return ""
    one = sum(x != 0 for x in floats(expected)) == 1  # always off by a factor, so the case has to name it
    if abs(c + 1) < CLOSE:
        return "the number has the wrong sign" if one else "every number has the wrong sign"
    sign = "" if c > 0 else ", and has the wrong sign"
    c = abs(c)
    large = c > 1
    said = f"every number is off by a factor {c:.4g}{sign}"
    if c < 1:
        said = f"every number is off by a factor {c:.4g} = 1/{1 / c:.4g}{sign}"
    for name, value in (case.constants if one else constants(case, expected)).items():
        for power, text in ((1, name), (2, f"({name})^2")):
            if abs((c if large else 1 / c) / value**power - 1) < CLOSE:
                lacks, often = ("division by it", "multiplication") if large else ("multiplication by it", "division")
                why = f"is a {lacks} missing, or a {often} there once too often?"
                return f"{said}, and {max(c, 1 / c):.4g} = {text}: {why}"
    if one:
        return ""
    if abs(c - 2) < CLOSE:
        return f"{said}: is something added twice?"
    return said


def permuted(case: Case, expected: Value, got: Value) -> str:
    """The axes are in another order."""
    rank = len(expected.shape)
    if rank != len(got.shape) or rank < 2 or rank > 4 or sorted(expected.shape) != sorted(got.shape):
        return ""
    for order in itertools.permutations(range(rank)):
        if order == tuple(range(rank)) or tuple(expected.shape[a] for a in order) != got.shape:
            continue
        if same(turned(expected, order), floats(got)):
            return "the numbers are right, but transposed" if rank == 2 else (
                f"the numbers are right, but the axes are in another order: {list(order)} of what is expected"
            )
    for order in itertools.permutations(range(rank)):
        shape = tuple(expected.shape[a] for a in order)
        if order != tuple(range(rank)) and math.prod(shape) == len(got.elements) and same(turned(expected, order), floats(got)):
            return "the right numbers in the wrong places: are they read along another axis?"
    return ""


def turned(value: Value, order: tuple[int, ...]) -> list[float]:
    """The elements with the axes in this order."""
    strides = [math.prod(value.shape[a + 1 :]) for a in range(len(value.shape))]
    ranges = [range(value.shape[a]) for a in order]
    return [value.elements[sum(i * strides[a] for i, a in zip(index, order, strict=True))] for index in itertools.product(*ranges)]


def summed(case: Case, expected: Value, got: Value) -> str:
    """A sum over leading axes is missing, or there is one too many."""
    large, small = (got, expected) if len(got.elements) > len(expected.elements) else (expected, got)
    n = len(small.elements)
    if n == 0 or len(large.elements) == n or len(large.elements) % n != 0 or large.shape[len(large.shape) - len(small.shape) :] != small.shape:
        return ""
    parts = len(large.elements) // n
    sums = [sum(large.elements[p * n + i] for p in range(parts)) for i in range(n)]  # infinite where they are too large
    axes = "axis 0" if len(large.shape) == len(small.shape) + 1 else "the leading axes"
    if not same(sums, floats(small)):
        return ""
    if large is got:
        return f"the sum over {axes} is missing: every row of the batch has its own result"
    return f"this is summed over {axes}, but should not be"


def reversed_axis(case: Case, expected: Value, got: Value) -> str:
    """An axis runs backward."""
    for axis, n in enumerate(expected.shape):
        inner = math.prod(expected.shape[axis + 1 :])
        back = [expected.elements[p + (n - 1 - 2 * (p // inner % n)) * inner] for p in range(len(expected.elements))]
        if n > 1 and same(back, floats(got)):
            return f"the numbers are right, but axis {axis} runs backward"
    return ""


def added_to(case: Case, expected: Value, got: Value) -> str:
    """An argument is added that should not be, or is missing in a sum."""
    for i, argument in enumerate(case.arguments):
        if argument.kind != "T" or argument.shape != got.shape or len(got.elements) == 1:
            continue  # one number is soon the sum of two
        name = case.names[i] if i < len(case.names) else f"argument {i + 1}"
        if same([x + y for x, y in zip(expected.elements, argument.elements, strict=True)], floats(got)):
            return f"{name} is added, but should not be"
        if same([x - y for x, y in zip(expected.elements, argument.elements, strict=True)], floats(got)):
            return f"{name} is missing from the sum"
    return ""


def precision(case: Case, expected: Value, got: Value) -> str:
    """Nearly right."""
    if same(floats(expected), floats(got), 1e-5):
        why = "is a `float` where a `Real`, which is double here, should be, are there differences, or a small constant?"
        return f"right to only about six digits: {why}"
    return ""


def part(case: Case, expected: Value, got: Value) -> str:
    """Some rows, columns or matrices are right."""
    bound = max(case.tolerance, CLOSE) * max(size(floats(expected)), 1e-300)
    wrong = {i for i, (x, y) in enumerate(zip(expected.elements, got.elements, strict=True)) if not abs(x - y) <= bound}
    names = {1: "element", 2: "row", 3: "matrix"}
    for axis, n in enumerate(expected.shape):
        inner = math.prod(expected.shape[axis + 1 :])
        bad = sorted({p // inner % n for p in wrong})
        if n < 2 or not bad or len(bad) == n:
            continue
        last = axis == len(expected.shape) - 1
        name = ("column" if len(expected.shape) > 1 else "element") if last else names.get(len(expected.shape) - axis, "sentence")
        if bad == [0]:
            return f"only the first {name} is wrong (axis {axis})"
        if bad == [n - 1]:
            unwritten = not any(got.elements[p] for p in wrong)
            return f"only the last {name} is wrong (axis {axis})" + (": does a loop end too early?" if unwritten else "")
        if bad == list(range(1, n)):
            return f"only the first {name} is right (axis {axis})"
        return f"of {n} along axis {axis} ({name}s), these are wrong: {', '.join(map(str, bad[:8]))}{', ...' if len(bad) > 8 else ''}"
    return ""
