"""Which answers are alike, but for names, spaces and comments."""

from __future__ import annotations

import hashlib
import re
import sys
from collections import defaultdict

from ..answer.exercise import COMPUTED, ROOT, Exercise

sys.path.append(str(ROOT / "tests"))
from cpp_tokens import tokens

LONGEST = 20_000  # characters of an answer that are compared
SHOWN = 3  # other students that a flag names


def alike(source: str) -> str:
    """A hash that is the same for two sources if one is the other with other names for its variables. What is called, a
    member or after :: keeps its name."""
    code = re.sub(r"^[ \t]*#[ \t]*include.*$", "", source[:LONGEST], flags=re.MULTILINE)
    words = [token.text for token in tokens(code)]
    numbers: dict[str, int] = {}
    renamed = []
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        kept = not re.match(r"[^\W\d]", word) or after in ("(", "::") or before in (".", "->", "::")
        renamed.append(word if kept else f"name {numbers.setdefault(word, len(numbers))}")
    return hashlib.sha256("\n".join(renamed).encode()).hexdigest()[:16]


def fingerprint(exercise: Exercise, answer: bytes | None) -> str:
    """What is compared of an answer; empty for an unchanged stub, and for answers that are no code."""
    if answer is None or exercise.kind not in COMPUTED:
        return ""
    found = alike(answer.decode("utf-8-sig", errors="replace"))
    return "" if exercise.kind != "hunt" and found == alike(exercise.stub()) else found


def flags(results: list[dict], whole: list[Exercise]) -> dict[str, list[str]]:
    """For each student, for the instructor to look at, whose answers are alike."""
    found = defaultdict(list)
    for e in whole:
        same = defaultdict(list)
        for result in results:
            for v in result["verdicts"]:
                if v["number"] == e.number and v.get("fingerprint"):
                    same[v["fingerprint"]].append(result["student"])
        published = alike(e.solution()) if e.kind in COMPUTED and e.kind != "hunt" else ""
        for mark, students in same.items():
            for student in students:
                others = [other for other in students if other != student]
                if mark == published:
                    found[student].append(f"{e.number} is the published solution but for names")
                elif others:
                    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
                    found[student].append(f"{e.number} is that of {', '.join(others[:SHOWN])}{more} but for names")
    return found
