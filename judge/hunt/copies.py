"""Compiled copies of a fault's source."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import asdict, fields
from pathlib import Path

from ..answer.build import compile_object, outdated
from ..answer.exercise import IN_HANDOUT, ROOT, Exercise, replaced
from ..answer.libraries import last_chapter
from ..answer.setting import BUILD, setting
from .faults import FOLDER, SOURCES, Fault


def object_of(fault: Fault, find: str, put: str) -> Path:
    """A compiled copy of the fault's source with another text in one place; a hand-out has the one with the fault.

    :raises Failed: with what the compiler printed
    """
    if IN_HANDOUT:
        return FOLDER / f"{fault.id}.o"
    found = setting()
    content = replaced((ROOT / fault.file).read_text(), find, put, f"hunt: {fault.name}")
    digest = hashlib.sha256((content + repr(found)).encode()).hexdigest()[:16]
    result = BUILD / "hunt" / f"{digest}.o"
    if outdated(result):
        result.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=result.parent) as folder:
            copy = Path(folder) / "copy.cpp"  # a name that says nothing
            copy.write_text(content)
            compile_object(copy, copy.with_suffix(".o"), [*found.flags, "-w"])
            copy.with_suffix(".o").replace(result)
    return result


def pack(exercise: Exercise, others: list[Exercise], out: Path) -> None:
    """Writes the copies into a hand-out, with what a student may know of each, and the book's sources, except those that
    would solve one of the other exercises."""
    (out / SOURCES.name).mkdir(parents=True)
    known = [f.name for f in fields(Fault)][:6]
    (out / "faults.json").write_text(json.dumps([{k: v for k, v in asdict(f).items() if k in known} for f in exercise.faults], indent=1))
    (out / "stub.cpp").write_text(exercise.stub())
    for fault in exercise.faults:
        (out / f"{fault.id}.o").write_bytes(object_of(fault, fault.find, fault.put).read_bytes())
        asked = [o for o in others if o.chapter == fault.chapter[:2]]
        if not any(last_chapter(o) < o.chapter or fault.stem in o.without for o in asked):
            (out / SOURCES.name / f"{fault.chapter[:2]}_{fault.stem}.cpp").write_text((ROOT / fault.file).read_text())
