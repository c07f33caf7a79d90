"""Tries a pack out: it must take right answers for right, and stubs for nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..answer.exercise import COMPUTED, Exercise
from ..answer.setting import Failed
from ..hunt import faults, sheet

NOBODY = "nobody"  # the student who tries a pack out


def judged_by(out: Path, answers: dict[str, str], numbers: list[str]) -> list[dict]:
    """The pack's own verdicts on these answers, which are given by file name."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"student.txt": NOBODY, **answers}.items():
            (Path(folder) / name).write_text(content)
        command = ["./check", "--json", "--answers", folder, *numbers]
        done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise Failed(done.stdout + done.stderr) from error


def refused(exercises: list[Exercise], out: Path) -> list[str]:
    """The right answers that the pack takes for wrong, except one that is only slow, as on a busy machine."""
    computed = [e for e in exercises if e.kind in COMPUTED]
    if not computed:
        return []
    verdicts = judged_by(out, {e.file_name: right(e) for e in computed}, [e.number for e in computed])
    return [
        f"{v['number']}: {c['name']}: {c['text']}"
        for v in verdicts
        for c in v["criteria"]
        if c["reason"] not in ("ok", "slow", "later")
    ]


def right(exercise: Exercise) -> str:
    """The right answer, in a hunt that of the student whom `judged_by` is."""
    if exercise.kind != "hunt":
        return exercise.solution()
    fault = faults.drawn(exercise, NOBODY)
    return sheet.answer_of(fault, fault.finds)


def judge_pack(exercises: list[Exercise], out: Path) -> int:
    """The points of the pack's own stubs, judged by the pack itself."""
    stubs = {path.name: path.read_text() for path in (out / "answers").iterdir()}
    verdicts = judged_by(out, stubs, [e.number for e in exercises])
    shutil.rmtree(out / "build", ignore_errors=True)
    for cache in out.rglob("__pycache__"):
        shutil.rmtree(cache)
    if any(v["problem"] for v in verdicts):
        raise Failed(f"a stub of the pack does not compile:\n{[v['problem'] for v in verdicts if v['problem']]}")
    return sum(v["points"] for v in verdicts)
