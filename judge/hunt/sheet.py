"""The file that a student fills in: a test, the line and the cause."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from ..answer.exercise import CHECK, IN_HANDOUT, ROOT
from .faults import FOLDER, SOURCES, Fault


def stub(fault: Fault, student: str) -> str:
    """The file that the student begins with."""
    extra = ("lib/gradcheck.hpp", *fault.headers)
    return (
        (FOLDER / ("stub.cpp" if IN_HANDOUT else "answer.cpp")).read_text()
        .replace("{id}", fault.id)
        .replace("{student}", student)
        .replace("{source}", fault.file)
        .replace("{symptom}", textwrap.fill(fault.symptom, 95, initial_indent="//     ", subsequent_indent="//     "))
        .replace("{check}", CHECK)
        .replace("{here}", str(place(fault)))
        .replace("{headers_here}", ", ".join(f"include/{h}" if IN_HANDOUT else h for h in fault.headers))
        .replace("{headers}", "\n".join(f'#include "{h}"' for h in sorted(extra)))
    )  # fmt: skip


def place(fault: Fault) -> Path | str:
    """Where the book's source is, in this folder or, if it would give another exercise away, on a page."""
    if not IN_HANDOUT:
        return fault.file
    copied = SOURCES / f"{fault.chapter[:2]}_{fault.stem}.cpp"
    return copied.relative_to(ROOT) if copied.is_file() else f"the page of chapter {int(fault.chapter[:2])}"


def answer_of(fault: Fault, test: str, *, line: str | None = None) -> str:
    """An answer with this test, as a student would hand it in."""
    whole = stub(fault, "anyone").replace("// CAUSE:", f"// CAUSE: {fault.cause}")
    whole = whole.replace("// LINE:", f"// LINE: {one_line(fault.find) if line is None else line}")
    return whole.replace('    throw std::logic_error("not written yet");\n', textwrap.indent(test.strip("\n"), "    ") + "\n")


def both(test: str, other: str) -> str:
    """A test that asks for what both ask for."""
    return f"const auto one = [] {{\n{test}\n}};\nconst auto other = [] {{\n{other}\n}};\nreturn one() && other();"


def one_line(code: str) -> str:
    """The code in one line."""
    return " ".join(code.split())


def entry(answer: str, name: str) -> str:
    """What follows `// LINE:` or `// CAUSE:`, and for a cause also the comment's next lines."""
    found = re.search(rf"^// {name}:(.*(?:\n// (?!LINE:|CAUSE:).*)*)", answer, re.MULTILINE)
    whole = found[1] if found else ""
    return one_line(whole.partition("\n")[0] if name == "LINE" else whole.replace("\n//", " "))
