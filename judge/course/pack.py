"""What judges exercises without the book, what else of an exercise goes with it, and that no line of a solution does."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ..answer import cases as draws
from ..answer.build import compile_object
from ..answer.exercise import COMPUTED, ROOT, Exercise, Mistaken
from ..answer.libraries import libraries
from ..answer.predict import variants
from ..answer.report import section
from ..answer.setting import INCLUDE, setting
from ..hunt import copies
from . import rendered

MODULES = "__init__ __main__ answer/* hunt/* reader/__init__ reader/check".split()
PACKAGES = "g++ libeigen3-dev libfmt-dev libboost-context-dev".split()
SEED = 1  # of the cases in a pack; those of grading are others
LONGEST_SHARED = 24  # characters: a shorter line of a solution, such as a brace, may occur anywhere
TENSORS = ("lib/tensor.hpp", "lib/eigen.hpp")  # what the page on tensors shows
NAMED = re.compile(r"\b((?:lib|chapters|judge)/[\w/.]+\.(?:hpp|cuh))\b")
LINK = re.compile(r"(\[[^\]]*\])\(([\w./#-]+\.md[\w#-]*)\)")
HEAD = re.compile(r"(for|if|while) \(.*\)( \{)?")
FLAGS = "-std=c++20 -O1 -Wall -Wextra -DABH_DOUBLE -DFMT_HEADER_ONLY".split()


def statement(exercise: Exercise, there: Iterable[str] = ()) -> str:
    """The statement, with the pack's own command, and with links to those of the book's pages that are in the pack."""
    return linked(exercise, (exercise.folder / "statement.md").read_text().replace("`./book check", "`./check"), there)


def linked(exercise: Exercise, text: str, there: Iterable[str] = ()) -> str:
    """A text of an exercise with links to pages that are there, and with words in place of other links."""

    def link(found: re.Match[str]) -> str:
        file, _, anchor = found[2].partition("#")
        page = os.path.normpath(f"chapters/{exercise.folder.parent.parent.name}/{file.removesuffix('.md')}.html")
        return f"{found[1]}({rendered.FOLDER}/{page}#{anchor})".replace("#)", ")") if page in there else found[1][1:-1]

    return LINK.sub(link, text)


def manifest(exercise: Exercise) -> dict:
    """exercise.json without the entries that only the judge and the instructor need."""
    full = json.loads((exercise.folder / "exercise.json").read_text())
    for name in ("mutants", "given", "trains", "needs"):
        full.pop(name, None)
    full["section"] = section(exercise)
    return full


def plainly(exercises: list[Exercise]) -> list[Exercise]:
    """The exercises by the numbers that a pack has for them; it holds no faults but those of its hunt."""
    return [replace(e, number="hunt") if e.kind == "hunt" else e for e in exercises]


def require_empty(out: Path) -> None:
    """Checks that a pack can be written there.

    :raises Mistaken: if something is there
    """
    if out.is_dir() and any(out.iterdir()):
        raise Mistaken(f"{out} is not empty; --out needs an empty folder")
    if out.exists() and not out.is_dir():
        raise Mistaken(f"{out} is no folder; --out needs an empty one")


@contextlib.contextmanager
def whole_or_nothing(out: Path) -> Iterator[None]:
    """Takes away again what has been written into a folder that was empty, if the rest cannot be, or is interrupted."""
    try:
        yield
    except BaseException:
        for path in out.iterdir() if out.is_dir() else ():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise


def make_judge(exercises: list[Exercise], out: Path) -> None:
    """Writes into an empty folder what judges these exercises without the book. Only what is named here goes into it."""
    exercises = plainly(exercises)
    computed = [e for e in exercises if e.kind in COMPUTED]
    out.mkdir(parents=True, exist_ok=True)
    (out / ".gitattributes").write_text("* text=auto eol=lf\n")  # git on Windows would end the lines of ./check as no shell can read them
    for pattern in MODULES:
        for module in (ROOT / "judge").glob(f"{pattern}.py"):
            target = out / module.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(module, target)
    for header in headers(exercises):
        target = out / "include" / header
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(INCLUDE / header, target)
    found = setting()
    listed: dict[str, list[str]] = {}
    (out / "libraries").mkdir()
    for e in computed:
        listed[e.number] = [f"libraries/{Path(file).name}" for file in libraries(e, found)]
        for file in map(Path, libraries(e, found)):
            target = out / "libraries" / file.name
            if not target.exists():
                shutil.copyfile(file, target)
        listed[e.number].append(f"libraries/{Path(found.fmt).name}")
    shutil.copyfile(found.serve, out / "libraries" / "serve.a")
    shutil.copyfile(found.fmt, out / "libraries" / Path(found.fmt).name)
    for e in exercises:
        if e.kind == "hunt":  # ./check begins it, with the student's fault
            copies.pack(e, [o for o in computed if o is not e], out / "hunt")
            compile_object(e.folder / "call.cpp", out / "hunt" / "call.o", FLAGS)
            continue
        folder = out / e.folder.relative_to(ROOT)
        folder.mkdir(parents=True)
        (folder / "exercise.json").write_text(json.dumps(manifest(e), indent=2))
        (folder / "statement.md").write_text(statement(e))
        (folder / f"stub{e.source.suffix}").write_text(e.stub())
        if e not in computed:  # ./check begins it, with the student's numbers
            (folder / "numbers.json").write_text(json.dumps(variants(e), indent=0))
        else:
            (folder / "cases.bin").write_bytes(draws.draw_raw(e, SEED))
            compile_object(e.folder / "call.cpp", folder / "call.o", FLAGS)
            if e.faster:
                (folder / "plain.cpp").write_text(beaten(e))
    (out / "handout.json").write_text(
        json.dumps({"machine": platform.machine(), "libc": platform.libc_ver()[1], "flags": FLAGS, "links": ["-lboost_context"],
                    "serve": "libraries/serve.a", "libraries": listed}, indent=2)
    )  # fmt: skip


def headers(exercises: list[Exercise]) -> list[str]:
    """The headers that answers may include: those that stubs, statements, hunts and the page on tensors name, with all
    that these include."""
    texts = [text for e in exercises if e.kind != "hunt" for text in (e.stub(), statement(e), beaten(e))]
    texts += [(ROOT / fault.file).read_text() for e in exercises for fault in e.faults]
    found = {*TENSORS, *(h for e in exercises for fault in e.faults for h in ("lib/gradcheck.hpp", *fault.headers))}
    found |= {h for text in texts for h in NAMED.findall(text)}
    todo = sorted(found)
    while todo:
        header = INCLUDE / todo.pop()
        new = set(NAMED.findall(header.read_text())) - found if header.is_file() else set()
        found, todo = found | new, [*todo, *new]
    return sorted(h for h in found if (INCLUDE / h).is_file())


def beaten(exercise: Exercise) -> str:
    """The plain way that a speed exercise is timed against; empty for other exercises."""
    return (exercise.folder / "plain.cpp").read_text() if exercise.faster else ""


def squeezed(text: str) -> list[str]:
    """The lines of a text, with runs of spaces reduced to one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def given(exercise: Exercise) -> dict[str, str]:
    """The texts of an exercise that students get, by name."""
    found = {"statement.md": statement(exercise), f"stub{exercise.source.suffix}": exercise.stub()}
    return found | ({"plain.cpp": beaten(exercise)} if exercise.faster else {})


def leaks(exercises: list[Exercise], texts: dict[str, str]) -> list[str]:
    """Lines of solutions that occur in these texts. Lines that a stub, a statement or the plain way shows anyway do not
    count, nor does the head of a loop or a branch, which gives nothing away by itself."""
    shown = {line for e in exercises for line in squeezed("\n".join((e.stub(), statement(e), beaten(e))))}
    secret = {
        line: e.number
        for e in exercises
        for line in squeezed("\n".join(e.solution_lines()))
        if len(line) >= LONGEST_SHARED and line not in shown and not HEAD.fullmatch(line)
    }
    return [
        f"{name}:{i} has a line of {secret[line]}'s solution: {line}"
        for name, text in texts.items()
        for i, line in enumerate(squeezed(text), 1)
        if line in secret
    ]


def scan(exercises: list[Exercise], out: Path) -> list[str]:
    """Lines of solutions that have got into the pack."""
    files = sorted(p for p in out.rglob("*") if p.is_file())
    texts = {str(p.relative_to(out)): p.read_text(errors="replace") for p in files}
    shown = {name: rendered.text_of(text) if name.endswith(".html") else text for name, text in texts.items()}
    return leaks(exercises, shown)
