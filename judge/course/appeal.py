"""A failing case in full, for a student who asks why."""

from __future__ import annotations

from ..answer.values import REALS, Value
from ..answer.verdict import Judged, Verdict

MOST = 200  # numbers of a case that are shown; of a larger one, the shapes


def cases(verdict: Verdict) -> str:
    """For each criterion that was not met: the inputs, what is right, and what came out."""
    return "\n\n".join(filter(None, map(case, verdict.criteria)))


def case(judged: Judged) -> str:
    """The case that a criterion failed on; empty if there is none."""
    if not judged.fault or not judged.fault.case:
        return ""
    case, got = judged.fault.case, judged.fault.got
    named = [case.name_of(i - len(case.arguments)) for i in range(len(case.arguments))]
    parts = [*zip(named, case.arguments)]
    parts += [(f"expected {case.name_of(i)}", value) for i, value in enumerate(case.results)]
    parts += [(f"got {case.name_of(i)}", value) for i, value in enumerate(got)]
    whole = sum(len(value.elements or ()) for _, value in parts) <= MOST
    head = f"{judged.name}: a case of {case.call}" + (f" ({case.shown})" if case.shown else "")
    return "\n".join([head, *(f"  {name}: {shown(value, whole=whole)}" for name, value in parts), f"  {judged.fault.text}"])


def shown(value: Value, *, whole: bool) -> str:
    """A number, a text, or a tensor, with a line for each row."""
    if value.kind == "S":
        return repr(value.text)
    numbers = [f"{x:.9g}" if value.kind in REALS else str(x) for x in value.elements if whole or not value.shape]
    if not value.shape:
        return numbers[0]
    width = value.shape[-1] or 1
    rows = [f"    {list(value.index(i)[:-1]) or ''} {'  '.join(numbers[i : i + width])}" for i in range(0, len(numbers), width)]
    return "\n".join([value.describe(), *rows])
